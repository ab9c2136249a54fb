#include "longspan/io/remove_folder.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/aside.h"
#include "longspan/io/sync_folder.h"

namespace longspan {

namespace fs = std::filesystem;

void remove_folder(const std::string& path) {
  const std::string aside = internal::name_aside(path, internal::kUnfinished);
  if (::rename(path.c_str(), aside.c_str()) != 0) internal::fail(path, "cannot be removed", errno);
  std::error_code error;
  fs::remove_all(aside, error);
  if (error) throw RunError(str_cat(path, ": cannot be removed: ", error.message()));
}

void clear_unfinished(const std::string& folder) {
  std::error_code error, ignored;
  std::vector<std::string> targets;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const std::string target = internal::target_of_aside(entry->path().filename().string()); !target.empty())
      targets.push_back((fs::path(folder) / target).string());
  for (const std::string& target : targets) internal::clear_leftovers(target, {}, /*everything=*/true);
}

}  // namespace longspan
