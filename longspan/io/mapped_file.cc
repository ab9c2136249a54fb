#include "longspan/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

namespace {

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  LONGSPAN_CHECK(!path_.empty(), "the name of a file to read is empty");
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  LONGSPAN_CHECK(file.value >= 0, path_, ": cannot be opened: ", reason());
  map(file.value);
}

MappedFile::MappedFile(std::string path, int descriptor) : path_(std::move(path)) { map(descriptor); }

void MappedFile::map(int descriptor) {
  struct stat status;
  LONGSPAN_CHECK(::fstat(descriptor, &status) == 0, path_, ": cannot be read: ", reason());
  LONGSPAN_CHECK(!S_ISDIR(status.st_mode), path_, ": is a directory, expected a file");
  LONGSPAN_CHECK(S_ISREG(status.st_mode), path_, ": is not a regular file");
  if (status.st_size == 0) return;
  void* data = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  LONGSPAN_CHECK(data != MAP_FAILED, path_, ": cannot be mapped: ", reason());
  data_ = static_cast<const std::byte*>(data);
  size_ = static_cast<std::size_t>(status.st_size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace longspan
