// Files and folders that appear whole or not at all.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/io/made_folders.h"

namespace longspan {

/// Writes a file aside, in the folder of `path`, and puts it in place with one rename once everything, the folder entry
/// too, is on the disk. Without commit() the destructor removes what was written and an older file stays as it was. A
/// symbolic link stays one, also where nothing is at its end yet: the file is written there. What writers of the same
/// path that were killed have left aside is removed first.
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

/// A whole file by AtomicFile.
void write_file(const std::string& path, std::string_view content);

/// A folder that is filled aside and renamed into place. An existing `path` is refused with InputError unless it is a
/// folder that holds nothing but regular files with names among `replaceable`: then it is exchanged, and those files
/// are removed after the new folder is in place. What came into it meanwhile is never removed: commit() throws RunError
/// and leaves it. Folders above `path` are made, and taken away again without a commit(). What killed writers of the
/// same path left is put right first: an old folder that was on its way out comes back where no new one had come in.
/// Files inside should be written by AtomicFile, which brings them to the disk.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::string path, std::vector<std::string> replaceable = {});
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  /// Path inside the folder that is being filled.
  std::string operator/(std::string_view name) const { return aside_ + "/" + std::string(name); }
  /// Calls `write` with that folder's path; a RunError names the files by where they would have come to be.
  void fill(const std::function<void(const std::string& folder)>& write);
  void commit();

 private:
  std::string path_;
  std::string aside_;
  std::vector<std::string> replaceable_;
  std::optional<MadeFolders> parents_;
  int descriptor_ = -1;  ///< of the folder aside, with its lock
};

/// Creates a folder, with those above it, unless it is there, and tries out that a file can be made in it: to be asked
/// before long work whose results go there. RunError that names the folder and the reason.
void make_writable_folder(const std::string& path);

/// Whether a file has the name of one that AtomicFile or AtomicFolder had not finished: a killed process leaves it.
bool is_unfinished(std::string_view name);

}  // namespace longspan
