// The folder that the results of a command go to.
#pragma once

#include <string>
#include <vector>

#include "longspan/io/folder_lock.h"

namespace longspan::tool {

/// What a command writes into its folder.
struct ResultKind {
  std::string command;               ///< name of the subcommand
  std::vector<std::string> results;  ///< files that are there when a run is finished
  std::vector<std::string> parts;    ///< what else a run makes, files and folders
};

/// Holds `folder` (--out), made if it is missing, against other runs, and marks it as `kind.command`'s by a file. What
/// holds something else is nobody's to replace; neither are finished results without `overwrite`: InputError, and the
/// folder is as it was. The results of an earlier run are removed: they do not describe what this one writes.
/// RunError when another run holds the folder or it cannot be written.
class ResultFolder {
 public:
  ResultFolder(std::string folder, ResultKind kind, bool overwrite);
  /// Without keep() takes away again what the run made in a folder that was new to it.
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  /// There is something by now that is worth keeping, whatever becomes of the run.
  void keep() { kept_ = true; }

  static constexpr const char* kMarker = "made-by.json";

 private:
  std::string operator/(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  ResultKind kind_;
  FolderLock lock_;
  bool kept_ = false;
};

}  // namespace longspan::tool
