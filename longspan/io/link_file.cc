#include "longspan/io/link_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "longspan/io/aside.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/descriptor.h"
#include "longspan/io/mapped_file.h"
#include "longspan/io/sync_folder.h"

namespace longspan {

namespace {

using internal::fail;

/// What file systems without hard links answer, or with no more of them for this file.
bool is_no_link(int error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK || error == EXDEV;
}

void put_in_place(const std::string& aside, const std::string& path) {
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(aside.c_str());
    fail(path, "cannot be put in place", error);
  }
  internal::sync_folder(internal::folder_of(path));
}

}  // namespace

void copy_file(const std::string& from, const std::string& to) {
  const MappedFile file(from);
  AtomicFile copy(to);
  copy.write(file.bytes().data(), file.bytes().size());
  copy.commit();
}

void link_file(const std::string& from, const std::string& to) {
  const int descriptor = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(from, "cannot be opened", errno);
  const struct Closed {
    int descriptor;
    ~Closed() { ::close(descriptor); }
  } closed{descriptor};
  if (internal::is_open_at(descriptor, to)) return;
  internal::clear_leftovers(to);
  (void)internal::try_lock(descriptor);  // so that nobody takes the name aside for a leftover
  const std::string aside = internal::name_aside(to, internal::kUnfinished);
  if (::link(from.c_str(), aside.c_str()) == 0)
    put_in_place(aside, to);
  else if (is_no_link(errno))
    copy_file(from, to);
  else
    fail(to, "cannot be written", errno);
}

void point_link(const std::string& link, const std::string& target) {
  std::error_code none;
  if (std::filesystem::read_symlink(link, none) == target && !none) return;
  const std::string aside = internal::name_aside(link, internal::kUnfinished);
  if (::symlink(target.c_str(), aside.c_str()) != 0) fail(link, "cannot be written", errno);
  put_in_place(aside, link);
}

}  // namespace longspan
