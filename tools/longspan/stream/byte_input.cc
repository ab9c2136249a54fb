#include "byte_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "longspan/base/check.h"
#include "tools/longspan/interrupt.h"

namespace longspan::tool {

namespace {
constexpr int kPauseMilliseconds = 50;
constexpr int kLookMilliseconds = 200;
}  // namespace

ByteInput::ByteInput(const std::string& path) : path_(path == "-" ? "stdin" : path) {
  descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  LONGSPAN_CHECK(descriptor_ >= 0, path_, ": cannot be opened: ", std::strerror(errno));
  struct stat info = {};
  const bool known = ::fstat(descriptor_, &info) == 0;
  if (known && S_ISDIR(info.st_mode)) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    throw InputError(path_ + ": is a folder, not a file");
  }
  regular_ = known && S_ISREG(info.st_mode);
}

ByteInput::~ByteInput() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

std::size_t ByteInput::read(char* out, std::size_t most) {
  while (!interrupt_requested()) {
    // Waits in short spells: a signal may come just before the wait, or to another thread, and would not end it.
    struct pollfd entry = {descriptor_, POLLIN, 0};
    if (!regular_ && ::poll(&entry, 1, kLookMilliseconds) == 0) continue;
    const ssize_t got = ::read(descriptor_, out, most);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR && errno != EAGAIN) throw RunError(str_cat(path_, ": cannot be read: ", std::strerror(errno)));
  }
  return 0;
}

void ByteInput::skip(int64_t count) {
  if (count <= left() && ::lseek(descriptor_, count, SEEK_CUR) >= 0) return;
  std::vector<char> buffer(1 << 16);
  for (int64_t left = count; left > 0;) {
    const std::size_t got = read(buffer.data(), static_cast<std::size_t>(std::min<int64_t>(left, 1 << 16)));
    if (got == 0 && interrupt_requested()) return;
    LONGSPAN_CHECK(got > 0, "--skip: expected at most ", count - left, ", the bytes of ", path_, ", got ", count);
    left -= static_cast<int64_t>(got);
  }
}

bool ByteInput::pauses() const {
  if (regular_) return false;
  struct pollfd entry = {descriptor_, POLLIN, 0};
  return ::poll(&entry, 1, kPauseMilliseconds) == 0;
}

int64_t ByteInput::left() const {
  struct stat info = {};
  const off_t at = regular_ ? ::lseek(descriptor_, 0, SEEK_CUR) : -1;
  return at >= 0 && ::fstat(descriptor_, &info) == 0 ? std::max<int64_t>(info.st_size - at, 0) : 0;
}

bool stdin_is_piped() {
  struct stat info = {};
  return ::fstat(STDIN_FILENO, &info) == 0 &&
         (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || S_ISREG(info.st_mode));
}

}  // namespace longspan::tool
