#include "longspan/data/text_inputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include "longspan/base/check.h"
#include "longspan/data/dataset.h"
#include "longspan/io/input_file.h"

namespace longspan {

namespace fs = std::filesystem;

namespace {

std::string reason() { return std::generic_category().message(errno); }

class Finder {
 public:
  explicit Finder(Progress& progress) : progress_(progress) {}

  /// A path that the user named.
  void add_named(const std::string& path) {
    LONGSPAN_CHECK(!path.empty(), "the name of a text file is empty");
    struct stat status;
    if (path == kStandardInput) {
      LONGSPAN_CHECK(::fstat(STDIN_FILENO, &status) == 0, "standard input: cannot be read: ", reason());
    } else {
      LONGSPAN_CHECK(::stat(path.c_str(), &status) == 0, path, ": cannot be opened: ", reason());
    }
    if (path != kStandardInput && S_ISDIR(status.st_mode)) {
      const std::size_t before = inputs_.size();
      add_folder(path);
      LONGSPAN_CHECK(inputs_.size() > before, path, ": holds no files");
      return;
    }
    LONGSPAN_CHECK(path == kStandardInput || S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode), path,
                   ": is not a regular file");
    add_file(path, status, false);
  }
  std::vector<TextInput> take() { return std::move(inputs_); }

 private:
  void add_folder(const std::string& folder) {
    LONGSPAN_CHECK(!Dataset::is_dataset_with_tokens(folder), folder,
                   ": is a dataset, which is not text; name the files it was made of");
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (const std::string name = entry->path().filename().string(); name.front() != '.') names.push_back(name);
    LONGSPAN_CHECK(!error, folder, ": cannot be read: ", error.message());
    std::sort(names.begin(), names.end());  // std::string compares bytes as unsigned char
    for (const std::string& name : names) {
      const std::string path = (fs::path(folder) / name).string();
      struct stat status, own;
      LONGSPAN_CHECK(::lstat(path.c_str(), &own) == 0 && ::stat(path.c_str(), &status) == 0, path,
                     ": cannot be opened: ", reason());
      if (S_ISDIR(status.st_mode) && S_ISLNK(own.st_mode))
        progress_.message(str_cat(path, ": is a link to a folder and is left out"));
      else if (S_ISDIR(status.st_mode))
        add_folder(path);
      else if (S_ISREG(status.st_mode))
        add_file(path, status, true);
      else
        progress_.message(str_cat(path, ": is not a regular file and is left out"));
    }
  }

  void add_file(const std::string& path, const struct stat& status, bool found) {
    TextInput input{path,
                    S_ISREG(status.st_mode) ? static_cast<int64_t>(status.st_size) : -1,
                    found,
                    {status.st_dev, status.st_ino}};
    LONGSPAN_CHECK(found || input.size != 0, path, ": is empty");
    const auto [first, is_new] = seen_.emplace(input.identity, path);
    LONGSPAN_CHECK(is_new, path, ": stands twice among the files", first->second == path ? "" : ", also as ",
                   first->second == path ? "" : first->second);
    inputs_.push_back(std::move(input));
  }

  Progress& progress_;
  std::vector<TextInput> inputs_;
  std::map<std::pair<uint64_t, uint64_t>, std::string> seen_;
};

}  // namespace

std::vector<TextInput> find_inputs(const std::vector<std::string>& paths, Progress& progress) {
  Finder finder(progress);
  for (const std::string& path : paths) finder.add_named(path);
  return finder.take();
}

void check_disjoint(const std::vector<TextInput>& inputs, const std::vector<TextInput>& held_out) {
  std::map<std::pair<uint64_t, uint64_t>, const TextInput*> seen;
  for (const TextInput& input : inputs) seen.emplace(input.identity, &input);
  for (const TextInput& input : held_out)
    LONGSPAN_CHECK(!seen.contains(input.identity), input.path, ": is held out and trained on at once");
}

}  // namespace longspan
