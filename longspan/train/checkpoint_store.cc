#include "longspan/train/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/link_file.h"
#include "longspan/io/remove_folder.h"
#include "longspan/io/sync_folder.h"
#include "longspan/train/checkpoint.h"

namespace longspan::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "step-";
constexpr const char* kFolder = "checkpoints";
/// Smaller files are copied: a link would let an editor that changes the run's config.json in place change a
/// checkpoint.
constexpr std::uintmax_t kLeastLinked = 1 << 16;

std::string name_of(int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return str_cat(kPrefix, digits);
}

std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return step;
}

bool is_checkpoint(const fs::path& folder) {
  std::error_code unknown;
  return fs::exists(folder / kTrainingFile, unknown);
}

/// Checkpoints in the folder `checkpoints`, by step; one that cannot be read has none.
std::vector<StoredCheckpoint> stored_in(const std::string& checkpoints) {
  std::vector<StoredCheckpoint> out;
  std::error_code error;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end; entry.increment(error))
    if (const auto step = step_of(entry->path().filename().string()); step && is_checkpoint(entry->path()))
      out.push_back({*step, entry->path().string()});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return out;
}

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code error, unknown;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_regular_file(unknown)) out.push_back(entry->path());
  std::sort(out.begin(), out.end());
  return out;
}

/// Nothing of a damaged checkpoint: it is nobody's best.
CheckpointInfo info_of(const StoredCheckpoint& checkpoint) {
  try {
    return checkpoint_info(checkpoint.folder);
  } catch (const InputError&) {
    return {};
  }
}

/// Those that were validated on `validated_on`, best first, the earlier of equals first. Without a value: on what the
/// last of `checkpoints`, ascending by step, was validated on.
std::vector<std::pair<ValidationScore, StoredCheckpoint>> best_first(const std::vector<StoredCheckpoint>& checkpoints,
                                                                     std::optional<std::string> validated_on = {}) {
  std::vector<std::pair<ValidationScore, StoredCheckpoint>> out;
  for (auto at = checkpoints.rbegin(); at != checkpoints.rend(); ++at) {
    const CheckpointInfo info = info_of(*at);
    if (!info.validation) continue;
    if (!validated_on) validated_on = info.validated_on;
    // A checkpoint that does not say what it was validated on counts everywhere.
    if (info.validated_on == *validated_on || info.validated_on.empty() || validated_on->empty())
      out.emplace_back(*info.validation, *at);
  }
  std::reverse(out.begin(), out.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first.better_than(b.first); });
  return out;
}

/// Whether there is something besides the files that a checkpoint is made of.
bool holds_more(const std::string& folder) {
  std::error_code error, unknown;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (!entry->is_regular_file(unknown)) return true;
  return false;
}

/// Gives a folder that must not be lost another name, which means no checkpoint.
void set_aside(const std::string& folder) {
  std::error_code error;
  int64_t number = 1;
  while (fs::exists(str_cat(folder, ".", number), error)) ++number;
  fs::rename(folder, str_cat(folder, ".", number), error);
  if (error) internal::fail(folder, "cannot be renamed", error.value());
}

}  // namespace

std::vector<StoredCheckpoint> find_checkpoints(const std::string& folder) {
  std::vector<StoredCheckpoint> out = stored_in(folder + "/" + kFolder);
  if (is_checkpoint(folder)) {
    int64_t step = std::numeric_limits<int64_t>::max();
    try {
      step = checkpoint_info(folder).step;
    } catch (const InputError&) {  // whoever opens it says what is wrong
    }
    out.push_back({step, folder});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return out;
}

CheckpointStore::CheckpointStore(std::string run) : run_(std::move(run)), checkpoints_(run_ + "/" + kFolder) {}

void CheckpointStore::clear_unfinished() {
  longspan::clear_unfinished(checkpoints_);
  longspan::clear_unfinished(run_);
}

std::vector<StoredCheckpoint> CheckpointStore::up_to(int64_t step) const {
  auto out = stored_in(checkpoints_);
  std::erase_if(out, [&](const auto& entry) { return entry.step > step; });
  return out;
}

std::string CheckpointStore::place_of(int64_t step) const { return checkpoints_ + "/" + name_of(step); }

bool CheckpointStore::improves(int64_t step, const ValidationScore& score, const std::string& validated_on) const {
  const auto known = best_first(up_to(step), validated_on);
  return known.empty() || score.better_than(known.front().first);
}

void CheckpointStore::add(int64_t step, const std::function<void(const std::string& folder)>& write) {
  const std::string place = place_of(step);
  if (holds_more(place)) set_aside(place);
  std::vector<std::string> replaced;
  for (const auto& file : files_of(place)) replaced.push_back(file.filename().string());
  AtomicFolder folder(place, replaced);
  folder.fill(write);
  folder.commit();
  publish(step);
}

void CheckpointStore::publish(int64_t step) const {
  for (const fs::path& file : files_of(place_of(step))) {
    const std::string name = file.filename().string(), shown = run_ + "/" + name;
    if (name == kTrainingFile) continue;
    std::error_code unknown;
    if (fs::file_size(file, unknown) >= kLeastLinked)
      link_file(file.string(), shown);
    else
      copy_file(file.string(), shown);
  }
  std::error_code ignored;  // of a run that kept it there; the checkpoint above is later
  fs::remove(fs::path(run_) / kTrainingFile, ignored);
  point_best(up_to(step));
}

void CheckpointStore::point_best(const std::vector<StoredCheckpoint>& among) const {
  const std::string link = run_ + "/" + kBestModel;
  if (const auto known = best_first(among); !known.empty()) {
    point_link(link, str_cat(kFolder, "/", name_of(known.front().second.step)));
  } else if (std::error_code ignored; fs::is_symlink(link, ignored)) {
    fs::remove(link, ignored);
  }
}

void CheckpointStore::keep(int64_t newest, int64_t last, int64_t best) {
  const auto mine = up_to(newest);
  std::set<int64_t> kept;
  for (auto at = mine.rbegin(); at != mine.rend() && static_cast<int64_t>(kept.size()) < last; ++at)
    kept.insert(at->step);
  for (const auto& [score, checkpoint] : best_first(mine))
    if (best-- > 0) kept.insert(checkpoint.step);
  // Before its end goes: with best = 0 the best of all may be among those.
  auto staying = mine;
  std::erase_if(staying, [&](const auto& entry) { return !kept.contains(entry.step); });
  point_best(staying);
  for (const auto& checkpoint : stored_in(checkpoints_))
    if (!kept.contains(checkpoint.step)) remove_folder(checkpoint.folder);
}

}  // namespace longspan::train
