#include "result_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/json.h"

namespace longspan::tool {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kVersion = 1;

/// Whether there is more than our lock and what killed writers left aside.
bool folder_is_used(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != FolderLock::kLockFile && !is_unfinished(name)) return true;
  }
  return false;  // one that cannot be read: writing says what is wrong
}

bool is_marked(const std::string& marker, const std::string& command) {
  try {
    const Json json = load_json(marker);
    return json.is_object() && json.value("command", Json()) == command;
  } catch (const InputError&) {
    return false;
  }
}

const std::string& checked(const std::string& folder) {
  LONGSPAN_CHECK(!folder.empty(), "--out: expected a folder, got ''");
  return folder;
}

}  // namespace

ResultFolder::ResultFolder(std::string folder, ResultKind kind, bool overwrite)
    : folder_(std::move(folder)), kind_(std::move(kind)), lock_(checked(folder_)) {
  std::error_code ignored;
  if (folder_is_used(folder_)) {
    LONGSPAN_CHECK(is_marked(*this / kMarker, kind_.command), "--out: '", folder_,
                   "' holds something else than results of longspan ", kind_.command, "; give another folder");
    const bool finished = std::any_of(kind_.results.begin(), kind_.results.end(),
                                      [&](const std::string& name) { return fs::exists(*this / name, ignored); });
    LONGSPAN_CHECK(overwrite || !finished, "--out: '", folder_, "' holds the results of an earlier longspan ",
                   kind_.command, "; give another folder, or --overwrite to replace them");
    for (const std::string& name : kind_.results) fs::remove(*this / name, ignored);
    kept_ = true;
    return;
  }
  save_json(*this / kMarker, {{"format_version", kVersion}, {"command", kind_.command}});
}

ResultFolder::~ResultFolder() {
  if (kept_) return;
  std::error_code ignored;
  for (const auto* names : {&kind_.parts, &kind_.results})
    for (const std::string& name : *names) fs::remove_all(*this / name, ignored);
  fs::remove(*this / kMarker, ignored);
}

}  // namespace longspan::tool
