// Folders that go whole or not at all.
#pragma once

#include <string>

namespace longspan {

/// Removes a folder with everything in it. It leaves its name first, in one rename, so that a process killed in between
/// leaves no half of a folder under a name that means a whole one. RunError that names the folder and the reason.
void remove_folder(const std::string& path);

/// Clears from `folder` whatever killed writers left of entries in it (remove_folder, AtomicFile, AtomicFolder) and
/// nobody is at work on; for a folder in which nobody but such writers works. Never throws.
void clear_unfinished(const std::string& folder);

}  // namespace longspan
