#include "run_folder.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/folder_lock.h"
#include "longspan/train/checkpoint.h"
#include "longspan/train/distributed.h"
#include "run_recorder.h"

namespace longspan::tool {

namespace {

/// "a, b and 3 more"
std::string short_list(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? str_cat(text, " and ", names.size() - kShown, " more") : text;
}

}  // namespace

bool is_taken(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool has_history = fs::exists(fs::path(folder) / train::History::kFile, error);
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (has_history && (name == train::History::kFile || name == RunRecorder::kPage)) continue;
    if (name != FolderLock::kLockFile && !is_unfinished(name)) return true;
  }
  return false;  // one that cannot be read: writing says what is wrong
}

void check_resumable(const std::string& folder) {
  if (train::is_resumable(folder)) return;
  std::error_code unknown;
  // The processes of one run must not take each other for another run.
  if (std::filesystem::is_directory(folder, unknown) && train::placement_from_environment().size == 1)
    const FolderLock nobody(folder);
  throw InputError(str_cat("--resume: there is no run to go on with in '", folder, "' (no checkpoint)"));
}

void tell_initial_weights(const std::string& folder, const models::InitialWeights& taken,
                          const std::function<void(const std::string&)>& tell) {
  if (!taken.missing.empty())
    tell(str_cat("warning: --init-from: not in '", folder, "', so drawn anew: ", short_list(taken.missing)));
  if (!taken.left_over.empty())
    tell(str_cat("warning: --init-from: of '", folder, "' not used: ", short_list(taken.left_over)));
}

}  // namespace longspan::tool
