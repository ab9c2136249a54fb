// What the writers of this folder share: errors that name file and reason, renames that last.
#pragma once

#include <string>

namespace longspan::internal {

/// Throws RunError "<path>: <what>: <reason>".
[[noreturn]] void fail(const std::string& path, const char* what, int error);

/// The folder that an entry called `path` is in.
std::string folder_of(const std::string& path);

/// Makes renames inside `folder` last. RunError when the disk refuses.
void sync_folder(const std::string& folder);

}  // namespace longspan::internal
