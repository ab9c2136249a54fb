// Files and folders that appear whole or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longspan {

/// Writes a file aside, in the folder of `path`, and puts it in place with one rename once everything, the folder entry
/// too, is on the disk. Without commit() the destructor removes what was written and an older file stays as it was.
/// Throws RunError that names the file and the reason (full disk, no permission); InputError when `path` is something
/// other than a regular file (a directory, a device).
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// Appends. Unbuffered: write in large pieces.
  void write(const void* data, std::size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Nothing may be written after it.
  void commit();

 private:
  std::string path_;
  std::string aside_;
  int descriptor_ = -1;
};

/// A folder that is filled aside and renamed into place. An existing `path` is refused with InputError unless it is an
/// empty folder, or `replace` is set: then the old folder is exchanged and removed after the new one is in place.
/// Files inside should be written by AtomicFile, which brings them to the disk.
class AtomicFolder {
 public:
  AtomicFolder(std::string path, bool replace);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  /// Path inside the folder that is being filled.
  std::string operator/(std::string_view name) const { return aside_ + "/" + std::string(name); }
  void commit();

 private:
  std::string path_;
  std::string aside_;
  bool replace_;
};

}  // namespace longspan
