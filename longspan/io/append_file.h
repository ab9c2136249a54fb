// A file that grows, inside a folder that appears whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace longspan {

/// A new file for the end of which much is written, in pieces of any size, and that may be read and cut back before it
/// is done. Alone it is not atomic: it lies in an AtomicFolder, which takes it away when it was not to be.
/// RunError "<shown>: cannot be written: <reason>" when something fails.
class AppendFile {
 public:
  /// `shown` stands for the path in messages: where the folder will be, not where it is meanwhile.
  AppendFile(const std::string& path, std::string shown);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  void append(const void* data, std::size_t size);
  /// Bytes appended so far and not cut away.
  int64_t size() const { return written_ + static_cast<int64_t>(buffer_.size()); }
  /// Bytes [at, at + size), which must be there, to `out`.
  void read(int64_t at, void* out, std::size_t size);
  /// Cuts back to `size` bytes.
  void truncate(int64_t size);
  /// Everything to disk, synced. Nothing else may be called then.
  void close();

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string shown_;
  int descriptor_ = -1;
  int64_t written_ = 0;  ///< before the buffer
  std::vector<char> buffer_;
};

}  // namespace longspan
