#include "tests/io/file_calls.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>

namespace longspan {

namespace {

std::atomic<bool> armed{false};
std::atomic<int64_t> calls{0};
FileFault fault = FileFault::none;
int64_t fault_at = 0;
const char* faulted_call = "";

/// Whether this call is the one.
bool is_hit(const char* name) {
  if (!armed || ++calls != fault_at || fault == FileFault::none) return false;
  faulted_call = name;
  return true;
}

/// -1 with ENOSPC, or the end of the process.
int hit() {
  if (fault == FileFault::kill) ::kill(::getpid(), SIGKILL);
  errno = ENOSPC;
  return -1;
}

template <class... Arguments>
int changed(const char* name, long number, Arguments... arguments) {
  return is_hit(name) ? hit() : static_cast<int>(::syscall(number, arguments...));
}

int opened(const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) && is_hit("open")) return hit();
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // namespace

FileCalls::FileCalls(FileFault kind, int64_t at) {
  fault = kind;
  fault_at = at;
  calls = 0;
  faulted_call = "";
  armed = true;
}

FileCalls::~FileCalls() { armed = false; }

int64_t FileCalls::count() const { return calls; }

std::string FileCalls::faulted() const { return faulted_call; }

/// The third argument of open(), where there is one.
static mode_t mode_of(int flags, va_list rest) { return flags & O_CREAT ? va_arg(rest, mode_t) : 0; }

}  // namespace longspan

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = longspan::mode_of(flags, rest);
  va_end(rest);
  return longspan::opened(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = longspan::mode_of(flags, rest);
  va_end(rest);
  return longspan::opened(path, flags, mode);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  if (longspan::is_hit("write")) {
    if (longspan::fault == longspan::FileFault::kill) ::syscall(SYS_write, descriptor, data, size / 2);
    return longspan::hit();
  }
  return ::syscall(SYS_write, descriptor, data, size);
}

int fsync(int descriptor) { return longspan::changed("fsync", SYS_fsync, descriptor); }

int rename(const char* from, const char* to) noexcept { return longspan::changed("rename", SYS_rename, from, to); }

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  return longspan::changed("renameat2", SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) noexcept { return longspan::changed("link", SYS_link, from, to); }

int symlink(const char* target, const char* name) noexcept {
  return longspan::changed("symlink", SYS_symlink, target, name);
}

int mkdir(const char* path, mode_t mode) noexcept { return longspan::changed("mkdir", SYS_mkdir, path, mode); }

int unlink(const char* path) noexcept { return longspan::changed("unlink", SYS_unlink, path); }

int unlinkat(int folder, const char* path, int flags) noexcept {
  return longspan::changed("unlinkat", SYS_unlinkat, folder, path, flags);
}

int rmdir(const char* path) noexcept { return longspan::changed("rmdir", SYS_rmdir, path); }

}  // extern "C"
