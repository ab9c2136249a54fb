#include "byte_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/unpack.h"
#include "tools/longspan/interrupt.h"

namespace longspan::tool {

namespace {
constexpr int kPauseMilliseconds = 50;
constexpr int kLookMilliseconds = 200;
}  // namespace

/// The bytes as they lie, for the unpacker, to whom an end would mean that the archive is cut short.
class ByteInput::Raw final : public ByteSource {
 public:
  explicit Raw(ByteInput& input) : input_(input) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t got = input_.read_raw(out, size);
    if (got == 0) stop_if_interrupted();
    return got;
  }

 private:
  ByteInput& input_;
};

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

std::size_t ByteInput::read_raw(char* out, std::size_t most) {
  if (!head_.empty()) {
    const std::size_t part = head_.copy(out, most);
    head_.erase(0, part);
    return part;
  }
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

/// Finds out whether this is an archive, without reading ahead in what is none.
void ByteInput::look() {
  looked_ = true;
  bool packed = false;
  if (const off_t at = regular_ ? ::lseek(descriptor_, 0, SEEK_CUR) : -1; at >= 0) {
    std::array<char, kPackingHead> head;
    const ssize_t got = ::pread(descriptor_, head.data(), head.size(), at);
    packed = may_be_packed({head.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))}, path_);
  } else {
    std::string head;
    while (packing_of(head) == Packing::undecided) {
      char next;
      if (read_raw(&next, 1) == 0) break;
      head += next;
    }
    packed = packing_of(head) == Packing::some;
    head_ = head;
  }
  if (!packed) return;
  raw_ = std::make_unique<Raw>(*this);
  content_ = unpacked(*raw_, path_);
}

std::size_t ByteInput::read(char* out, std::size_t most) {
  try {
    if (!looked_) look();
    return content_ ? content_->read(out, most) : read_raw(out, most);
  } catch (const Interrupted&) {
    return 0;
  }
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
  if (regular_ || content_) return false;
  struct pollfd entry = {descriptor_, POLLIN, 0};
  return ::poll(&entry, 1, kPauseMilliseconds) == 0;
}

int64_t ByteInput::left() {
  if (!regular_) return 0;
  if (!looked_) look();
  struct stat info = {};
  const off_t at = content_ ? -1 : ::lseek(descriptor_, 0, SEEK_CUR);
  return at >= 0 && ::fstat(descriptor_, &info) == 0 ? std::max<int64_t>(info.st_size - at, 0) : 0;
}

bool stdin_is_piped() {
  struct stat info = {};
  return ::fstat(STDIN_FILENO, &info) == 0 &&
         (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || S_ISREG(info.st_mode));
}

bool stdin_holds_text() {
  int bytes = 0;
  return stdin_is_piped() && ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace longspan::tool
