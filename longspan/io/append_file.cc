#include "longspan/io/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

namespace {
constexpr std::size_t kBuffer = std::size_t{1} << 18;
}  // namespace

AppendFile::AppendFile(const std::string& path, std::string shown) : shown_(std::move(shown)) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
  buffer_.reserve(kBuffer);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::fail(int error) const {
  throw RunError(str_cat(shown_, ": cannot be written: ", std::generic_category().message(error)));
}

void AppendFile::append(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    if (buffer_.size() == kBuffer) flush();
    const std::size_t part = std::min(size, kBuffer - buffer_.size());
    buffer_.insert(buffer_.end(), next, next + part);
    next += part;
    size -= part;
  }
}

void AppendFile::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t part = ::pwrite(descriptor_, buffer_.data() + done, buffer_.size() - done, written_);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) fail(errno);
    done += static_cast<std::size_t>(part);
    written_ += part;
  }
  buffer_.clear();
}

void AppendFile::read(int64_t at, void* out, std::size_t size) {
  LONGSPAN_ASSERT(at >= 0 && at + static_cast<int64_t>(size) <= this->size(), shown_, ": read outside the file");
  flush();
  char* next = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t part = ::pread(descriptor_, next, size, at);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0)
      throw RunError(str_cat(shown_, ": cannot be read: ", std::generic_category().message(part < 0 ? errno : EIO)));
    next += part;
    at += part;
    size -= static_cast<std::size_t>(part);
  }
}

void AppendFile::truncate(int64_t size) {
  LONGSPAN_ASSERT(size >= 0 && size <= this->size(), shown_, ": cut back to more than it holds");
  flush();
  if (::ftruncate(descriptor_, size) != 0) fail(errno);
  written_ = size;
}

void AppendFile::close() {
  flush();
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
}

}  // namespace longspan
