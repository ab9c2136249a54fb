#include "longspan/io/aside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "longspan/base/check.h"
#include "longspan/io/descriptor.h"

namespace longspan::internal {

namespace fs = std::filesystem;

namespace {

/// Opens what `make` has made, locked; again under another name when a process that cleared leftovers got between.
template <class Make>
int open_locked(const std::string& path, std::string& aside, const Make& make) {
  while (true) {
    const std::string name = name_aside(path, kUnfinished);
    const int descriptor = make(name.c_str());
    if (descriptor < 0) return -1;
    if (try_lock(descriptor) != Lock::taken && is_open_at(descriptor, name)) {
      aside = name;
      return descriptor;
    }
    ::close(descriptor);
  }
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The target of a name that name_aside() gives with this ending, ".<target>.<digits>.<digits><ending>", or "".
std::string target_of(std::string_view name, std::string_view ending) {
  if (name.size() <= ending.size() || !name.starts_with('.') || !name.ends_with(ending)) return "";
  std::string_view rest = name.substr(1, name.size() - 1 - ending.size());
  for (int number = 0; number < 2; ++number) {
    const auto dot = rest.rfind('.');
    if (dot == std::string_view::npos || !is_digits(rest.substr(dot + 1))) return "";
    rest = rest.substr(0, dot);
  }
  return std::string(rest);
}

void remove_unless_locked(const fs::path& aside) {
  std::error_code ignored;
  if (fs::is_symlink(aside, ignored)) {  // has no lock, and is made and renamed at once
    fs::remove(aside, ignored);
    return;
  }
  const int descriptor = ::open(aside.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  if (try_lock(descriptor) == Lock::held && is_open_at(descriptor, aside.string())) fs::remove_all(aside, ignored);
  ::close(descriptor);
}

}  // namespace

std::string name_aside(const std::string& path, std::string_view ending) {
  static std::atomic<uint64_t> count{0};
  const fs::path target(path);
  const fs::path name = str_cat(".", target.filename().string(), ".", ::getpid(), ".", count++, ending);
  return (target.parent_path() / name).string();
}

int open_file_aside(const std::string& path, std::string& aside) {
  return open_locked(path, aside,
                     [](const char* name) { return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
}

int open_folder_aside(const std::string& path, std::string& aside) {
  return open_locked(path, aside, [](const char* name) {
    return ::mkdir(name, 0777) == 0 ? ::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  });
}

std::string target_of_aside(std::string_view name) {
  const std::string unfinished = target_of(name, kUnfinished);
  return unfinished.empty() ? target_of(name, kReplaced) : unfinished;
}

void clear_leftovers(const std::string& path, const std::vector<std::string>& replaceable, bool everything) {
  const fs::path target(path), folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const std::string name = target.filename().string();
  std::error_code error, ignored;
  std::vector<fs::path> unfinished, replaced;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string beside = entry->path().filename().string();
    if (target_of(beside, kUnfinished) == name) unfinished.push_back(entry->path());
    if (target_of(beside, kReplaced) == name) replaced.push_back(entry->path());
  }
  for (const auto& aside : unfinished) remove_unless_locked(aside);
  for (const auto& old : replaced) {
    if (!fs::exists(fs::symlink_status(target, ignored))) {
      (void)::rename(old.c_str(), target.c_str());
      continue;
    }
    if (everything) fs::remove_all(old, ignored);
    for (const auto& file : replaceable) fs::remove(old / file, ignored);
    fs::remove(old, ignored);
  }
}

}  // namespace longspan::internal
