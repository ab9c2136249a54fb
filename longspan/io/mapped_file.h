// A file mapped into memory for reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace longspan {

/// Read-only mapping of a whole regular file; its first byte is page-aligned. Movable. The file must not shrink while
/// it is mapped. Throws InputError that names the path and the reason: missing, not readable, a directory, not a file.
class MappedFile {
 public:
  explicit MappedFile(std::string path);
  /// The same of an open file, which may be closed afterwards; `path` is its name in messages.
  MappedFile(std::string path, int descriptor);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  /// The content; empty for an empty file.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  void map(int descriptor);

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace longspan
