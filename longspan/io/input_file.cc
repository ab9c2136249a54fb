#include "longspan/io/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

namespace {

constexpr int kWaitMilliseconds = 100;

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

InputFile::InputFile(std::string path, std::function<void()> waiting)
    : name_(path == kStandardInput ? "standard input" : path), waiting_(std::move(waiting)) {
  LONGSPAN_CHECK(!path.empty(), "the name of a file to read is empty");
  owned_ = path != kStandardInput;
  // Without O_NONBLOCK a pipe that nobody writes to would be waited for here, where no `waiting` is called.
  descriptor_ = owned_ ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : STDIN_FILENO;
  LONGSPAN_CHECK(descriptor_ >= 0, name_, ": cannot be opened: ", reason());
  struct stat status;
  const char* fault = nullptr;
  if (::fstat(descriptor_, &status) != 0)
    fault = ": cannot be read";
  else if (S_ISDIR(status.st_mode))
    fault = ": is a directory, expected a file";
  else if (owned_ && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    fault = ": is not a regular file";
  if (fault) {
    if (owned_) ::close(descriptor_);
    throw InputError(name_ + fault);
  }
  regular_ = S_ISREG(status.st_mode);
}

InputFile::~InputFile() {
  if (owned_) ::close(descriptor_);
}

void InputFile::wait() const {
  struct pollfd poll = {descriptor_, POLLIN, 0};
  while (::poll(&poll, 1, kWaitMilliseconds) <= 0)  // nothing yet, or a signal
    if (waiting_) waiting_();
}

std::size_t InputFile::read(char* out, std::size_t size) {
  while (true) {
    if (!regular_) wait();
    const ssize_t got = ::read(descriptor_, out, size);
    if (got >= 0) {
      position_ += got;
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR && errno != EAGAIN) throw RunError(str_cat(name_, ": cannot be read: ", reason()));
  }
}

}  // namespace longspan
