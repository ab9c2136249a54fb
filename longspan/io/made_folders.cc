#include "longspan/io/made_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "longspan/base/check.h"

namespace longspan {

namespace fs = std::filesystem;

MadeFolders::MadeFolders(const std::string& path) {
  LONGSPAN_CHECK(!path.empty(), "the name of a folder to write is empty");
  std::error_code unknown;
  std::vector<std::string> missing;  // from the inside out
  fs::path at = path;
  for (; !at.empty() && !fs::is_directory(at, unknown); at = at.parent_path()) {
    LONGSPAN_CHECK(!fs::exists(fs::symlink_status(at, unknown)), at.string(), ": exists and is not a folder");
    if (at.has_filename()) missing.push_back(at.string());  // "a/" is "a"
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (::mkdir(folder->c_str(), 0777) == 0)
      made_.push_back(*folder);
    else if (errno != EEXIST)  // by another program, meanwhile
      throw RunError(str_cat(path, ": cannot be created: ", std::generic_category().message(errno)));
  }
}

MadeFolders::~MadeFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
    if (::rmdir(folder->c_str()) != 0) break;  // holds something
}

}  // namespace longspan
