#include "longspan/io/folder_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "longspan/base/check.h"
#include "longspan/io/descriptor.h"

namespace longspan {

namespace {

/// " (process 123)" as the holder wrote it, or "".
std::string holder(int descriptor) {
  std::array<char, 20> digits;
  const ssize_t size = ::pread(descriptor, digits.data(), digits.size(), 0);
  for (ssize_t i = 0; i < size; ++i)
    if (digits[static_cast<std::size_t>(i)] < '0' || digits[static_cast<std::size_t>(i)] > '9') return "";
  return size > 0 ? str_cat(" (process ", std::string(digits.data(), static_cast<std::size_t>(size)), ")") : "";
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) : made_(folder), path_(str_cat(folder, "/", kLockFile)) {
  while (true) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0)
      throw RunError(str_cat(folder, ": cannot be written: ", std::generic_category().message(errno)));
    if (internal::try_lock(descriptor_) == internal::Lock::taken) {
      const std::string who = holder(descriptor_);
      ::close(descriptor_);
      throw RunError(str_cat(folder, ": another run is at work in this folder", who, "; wait for it or stop it"));
    }
    if (internal::is_open_at(descriptor_, path_)) break;  // else the one before us removed it as we opened it
    ::close(descriptor_);
  }
  const std::string self = std::to_string(::getpid());
  // For the message above alone: a full disk is met, and named, by the first file of the run itself.
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, self.data(), self.size(), 0);
}

FolderLock::~FolderLock() {
  ::unlink(path_.c_str());  // before the lock goes: who takes it next makes a file of its own
  ::close(descriptor_);
}

}  // namespace longspan
