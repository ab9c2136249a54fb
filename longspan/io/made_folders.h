// Folders made for a result that may not come to be.
#pragma once

#include <string>
#include <vector>

namespace longspan {

/// Makes a folder with those above it. The destructor takes away again what it made and what is still empty, so that a
/// refusal or a failure leaves nothing behind; folders that hold something by then stay.
/// Throws InputError when something else than a folder is in the way, RunError when one cannot be made.
class MadeFolders {
 public:
  explicit MadeFolders(const std::string& path);
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  ~MadeFolders();

 private:
  std::vector<std::string> made_;  ///< from the outside in
};

}  // namespace longspan
