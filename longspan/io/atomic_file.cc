#include "longspan/io/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/io/aside.h"
#include "longspan/io/sync_folder.h"

namespace longspan {

namespace fs = std::filesystem;

namespace {

using internal::fail;
using internal::folder_of;
using internal::sync_folder;

/// Where a chain of symbolic links leads, whether something is there or not.
std::string followed(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel's own limit
  fs::path at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code error;
    const fs::path target = fs::read_symlink(at, error);
    if (error) return at.string();  // not a link
    at = at.parent_path() / target;
  }
  fail(path, "cannot be written", ELOOP);
}

/// The first entry of a folder that is anything but a regular file with a name among `names`, or "".
std::string foreign_entry(const std::string& folder, const std::vector<std::string>& names) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    if (!fs::is_regular_file(entry->symlink_status(unknown)) ||
        std::find(names.begin(), names.end(), name) == names.end())
      return name;
  }
  if (error) throw RunError(str_cat(folder, ": cannot be read: ", error.message()));
  return "";
}

/// Without the trailing slashes that would make filename() empty.
std::string trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  LONGSPAN_CHECK(!path_.empty(), "the name of a file to write is empty");
  LONGSPAN_CHECK(path_.back() != '/', path_, ": is the name of a directory, expected a file");
  struct stat status;
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists) {
    LONGSPAN_CHECK(!S_ISDIR(status.st_mode), path_, ": is a directory, expected a file");
    LONGSPAN_CHECK(S_ISREG(status.st_mode), path_, ": is not a regular file");
  }
  path_ = followed(path_);
  internal::clear_leftovers(path_);
  descriptor_ = internal::open_file_aside(path_, aside_);
  if (descriptor_ < 0) fail(path_, "cannot be written", errno);
  if (exists) (void)::fchmod(descriptor_, status.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (!aside_.empty()) ::unlink(aside_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::write(const void* data, std::size_t size) {
  LONGSPAN_ASSERT(descriptor_ >= 0, "write after commit of ", path_);
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, next, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(path_, "cannot be written", errno);
    }
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  LONGSPAN_ASSERT(descriptor_ >= 0, "second commit of ", path_);
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(path_, "cannot be written to disk", errno);
  if (::rename(aside_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be put in place", errno);
  aside_.clear();
  // Not before the rename: while it is open nobody takes it for a leftover.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, "cannot be written to disk", errno);
  sync_folder(folder_of(path_));
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AtomicFolder::AtomicFolder(std::string path, std::vector<std::string> replaceable)
    : path_(trimmed(std::move(path))), replaceable_(std::move(replaceable)) {
  LONGSPAN_CHECK(!path_.empty(), "the name of a folder to write is empty");
  internal::clear_leftovers(path_, replaceable_);
  std::error_code error;
  if (fs::exists(fs::symlink_status(path_, error))) {
    LONGSPAN_CHECK(fs::is_directory(path_, error), path_, ": exists and is not a folder");
    const std::string foreign = foreign_entry(path_, replaceable_);
    LONGSPAN_CHECK(foreign.empty() || !replaceable_.empty(), path_, ": exists already");
    LONGSPAN_CHECK(foreign.empty(), path_, ": holds '", foreign, "', so the folder is not replaced");
    const fs::path real = fs::canonical(path_, error);  // a symbolic link stays one, and "." gets a name
    if (error) throw RunError(str_cat(path_, ": cannot be read: ", error.message()));
    path_ = real.string();
    internal::clear_leftovers(path_, replaceable_);
  } else {
    parents_.emplace(folder_of(path_));
  }
  descriptor_ = internal::open_folder_aside(path_, aside_);
  if (descriptor_ < 0) fail(path_, "cannot be created", errno);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!aside_.empty()) fs::remove_all(aside_, ignored);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFolder::fill(const std::function<void(const std::string& folder)>& write) {
  try {
    write(aside_);
  } catch (const RunError& error) {
    std::string text = error.what();
    for (std::size_t at = 0; (at = text.find(aside_, at)) != std::string::npos; at += path_.size())
      text.replace(at, aside_.size(), path_);
    throw RunError(text);
  }
}

void AtomicFolder::commit() {
  LONGSPAN_ASSERT(!aside_.empty(), "second commit of ", path_);
  fill([](const std::string& folder) { sync_folder(folder); });  // which names it as it will be called
  if (::rename(aside_.c_str(), path_.c_str()) == 0) {            // also onto an empty folder
    aside_.clear();
    sync_folder(folder_of(path_));
  } else if (!replaceable_.empty() && (errno == ENOTEMPTY || errno == EEXIST)) {
    if (const std::string foreign = foreign_entry(path_, replaceable_); !foreign.empty())
      throw RunError(str_cat(path_, ": holds '", foreign, "' by now, so the folder is not replaced"));
    const std::string old = internal::name_aside(path_, internal::kReplaced);
    if (::renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) {
      (void)::rename(aside_.c_str(), old.c_str());
    } else {
      // A file system without exchange: between the two renames there is no folder, but nothing is ever lost.
      if (::rename(path_.c_str(), old.c_str()) != 0) fail(path_, "cannot be replaced", errno);
      if (::rename(aside_.c_str(), path_.c_str()) != 0) {
        const int reason = errno;
        (void)::rename(old.c_str(), path_.c_str());
        fail(path_, "cannot be put in place", reason);
      }
    }
    aside_.clear();
    sync_folder(folder_of(path_));
    internal::clear_leftovers(path_, replaceable_);
  } else {
    fail(path_, "cannot be put in place", errno);
  }
}

void make_writable_folder(const std::string& path) {
  LONGSPAN_CHECK(!path.empty(), "the name of a folder to write is empty");
  const std::string folder = trimmed(path);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw RunError(str_cat(folder, ": cannot be created: ", error.message()));
  std::string probe;
  internal::clear_leftovers(folder + "/probe");
  const int descriptor = internal::open_file_aside(folder + "/probe", probe);
  if (descriptor < 0) fail(folder, "cannot be written", errno);
  ::unlink(probe.c_str());
  ::close(descriptor);
}

bool is_unfinished(std::string_view name) {
  return name.starts_with('.') && (name.ends_with(internal::kUnfinished) || name.ends_with(internal::kReplaced));
}

}  // namespace longspan
