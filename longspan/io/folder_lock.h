// One run at a time in a folder.
#pragma once

#include <string>
#include <string_view>

#include "longspan/io/made_folders.h"

namespace longspan {

/// Holds a folder, made if it is missing, against every other FolderLock, of this process too, until it is destroyed.
/// The lock is advisory: flock on the file kLockFile in the folder, which the destructor removes. A killed process
/// leaves the file and no lock. On a file system that has no locks nothing is held.
/// Throws RunError when another run holds the folder, naming its process where it is known, or when the file cannot be
/// made; InputError when `folder` is something else than a folder.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  static constexpr std::string_view kLockFile = ".lock";

 private:
  MadeFolders made_;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace longspan
