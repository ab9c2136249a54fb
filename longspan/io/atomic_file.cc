#include "longspan/io/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw RunError(str_cat(path, ": ", what, ": ", std::generic_category().message(error)));
}

/// A hidden name beside `path` that no other writer uses.
std::string name_aside(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  const fs::path target(path);
  const fs::path name = str_cat(".", target.filename().string(), ".", ::getpid(), ".", count++, ".aside");
  return (target.parent_path() / name).string();
}

std::string folder_of(const std::string& path) {
  const auto parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

/// Makes a rename inside `folder` last.
void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a folder that may be written but not read: nothing more can be done
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (result != 0 && error != EINVAL) fail(folder, "cannot be written to disk", error);  // EINVAL: no fsync there
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
    // A symbolic link stays one: what it points to is replaced.
    if (fs::is_symlink(path_)) path_ = fs::canonical(path_).string();
  }
  aside_ = name_aside(path_);
  descriptor_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(path_, "cannot be written", errno);
  if (exists) (void)::fchmod(descriptor_, status.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!aside_.empty()) ::unlink(aside_.c_str());
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
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, "cannot be written to disk", errno);
  if (::rename(aside_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be put in place", errno);
  aside_.clear();
  sync_folder(folder_of(path_));
}

AtomicFolder::AtomicFolder(std::string path, bool replace) : path_(trimmed(std::move(path))), replace_(replace) {
  LONGSPAN_CHECK(!path_.empty(), "the name of a folder to write is empty");
  std::error_code error;
  if (fs::exists(path_, error)) {
    LONGSPAN_CHECK(fs::is_directory(path_, error), path_, ": exists and is not a folder");
    LONGSPAN_CHECK(replace_ || fs::is_empty(path_, error), path_, ": exists already");
    path_ = fs::canonical(path_).string();  // a symbolic link stays one, and "." gets a name
  }
  aside_ = name_aside(path_);
  if (::mkdir(aside_.c_str(), 0777) != 0) fail(path_, "cannot be created", errno);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!aside_.empty()) fs::remove_all(aside_, ignored);
}

void AtomicFolder::commit() {
  LONGSPAN_ASSERT(!aside_.empty(), "second commit of ", path_);
  sync_folder(aside_);
  if (::rename(aside_.c_str(), path_.c_str()) == 0) {  // also onto an empty folder
    aside_.clear();
  } else if (replace_ && (errno == ENOTEMPTY || errno == EEXIST)) {
    // After the exchange `aside_` is the old folder: the destructor removes it.
    if (::renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
      // A file system without exchange: between the two renames there is no folder, but nothing is ever lost.
      const std::string old = name_aside(path_);
      if (::rename(path_.c_str(), old.c_str()) != 0) fail(path_, "cannot be replaced", errno);
      if (::rename(aside_.c_str(), path_.c_str()) != 0) {
        const int reason = errno;
        (void)::rename(old.c_str(), path_.c_str());
        fail(path_, "cannot be put in place", reason);
      }
      aside_ = old;
    }
  } else {
    fail(path_, "cannot be put in place", errno);
  }
  sync_folder(folder_of(path_));
}

}  // namespace longspan
