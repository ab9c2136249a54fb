// Small helpers around file descriptors, for the sources of this folder.
#pragma once

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

namespace longspan::internal {

/// Whether `path` names what `descriptor` has open: not when another process removed or replaced it meanwhile.
inline bool is_open_at(int descriptor, const std::string& path) {
  struct stat open, named;
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

enum class Lock { held, taken, none };

/// Tries for the exclusive advisory lock of an open file or folder, at once: held by us now, taken by another open
/// descriptor, or none where the file system has no locks. Closing the descriptor, or the end of the process, lets go.
inline Lock try_lock(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return Lock::held;
  return errno == EWOULDBLOCK ? Lock::taken : Lock::none;
}

}  // namespace longspan::internal
