#include "longspan/io/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/unpack.h"

namespace longspan {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

class Bytes final : public ByteSource {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::size_t read(char* out, std::size_t size) override {
    const auto part = bytes_.first(std::min(size, bytes_.size()));
    std::copy(part.begin(), part.end(), reinterpret_cast<std::byte*>(out));
    bytes_ = bytes_.subspan(part.size());
    return part.size();
  }

 private:
  std::span<const std::byte> bytes_;
};

/// A file for reading and writing that has no name.
class NamelessFile {
 public:
  explicit NamelessFile(const std::string& purpose) : purpose_(purpose) {
    std::error_code error;
    folder_ = std::filesystem::temp_directory_path(error).string();
    if (error) fail(error.value());
    std::string name = folder_ + "/longspan-XXXXXX";
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    ::unlink(name.c_str());
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }
  void write(const char* data, std::size_t size) const {
    for (std::size_t done = 0; done < size;) {
      const ssize_t part = ::write(descriptor_, data + done, size - done);
      if (part < 0 && errno != EINTR) fail(errno);
      if (part > 0) done += static_cast<std::size_t>(part);
    }
  }

 private:
  [[noreturn]] void fail(int code) const {
    throw RunError(str_cat(purpose_, ": cannot be unpacked into '", folder_,
                           "': ", std::generic_category().message(code), "; TMPDIR names another folder"));
  }

  std::string purpose_, folder_;
  int descriptor_ = -1;
};

}  // namespace

MappedFile map_text(const std::string& path, const std::function<void()>& working) {
  MappedFile file(path);
  const auto head = file.bytes().first(std::min(kPackingHead, file.bytes().size()));
  if (!may_be_packed({reinterpret_cast<const char*>(head.data()), head.size()}, path)) return file;
  Bytes source(file.bytes());
  const auto content = unpacked(source, path);
  const NamelessFile out(path);
  std::vector<char> buffer(kBuffer);
  while (const std::size_t got = content->read(buffer.data(), buffer.size())) {
    out.write(buffer.data(), got);
    if (working) working();
  }
  return MappedFile(path, out.descriptor());
}

}  // namespace longspan
