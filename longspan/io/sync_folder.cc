#include "longspan/io/sync_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "longspan/base/check.h"

namespace longspan::internal {

void fail(const std::string& path, const char* what, int error) {
  throw RunError(str_cat(path, ": ", what, ": ", std::generic_category().message(error)));
}

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a folder that may be written but not read: nothing more can be done
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (result != 0 && error != EINVAL) fail(folder, "cannot be written to disk", error);  // EINVAL: no fsync there
}

}  // namespace longspan::internal
