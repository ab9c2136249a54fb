// Names beside a target under which it is written until it is complete, and what killed writers left there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longspan::internal {

/// Ending of a file or folder that is being written. Its writer holds the lock of it (descriptor.h).
inline constexpr std::string_view kUnfinished = ".aside";
/// Ending of a complete folder that a new one is about to take the place of, or has taken.
inline constexpr std::string_view kReplaced = ".replaced";

/// A hidden name beside `path` that no other writer uses.
std::string name_aside(const std::string& path, std::string_view ending);

/// Creates a file (or a folder) beside `path` and locks it, so that no other writer takes it for a leftover. Returns an
/// open descriptor and sets `aside` to its name; -1 and errno when it cannot be made.
int open_file_aside(const std::string& path, std::string& aside);
int open_folder_aside(const std::string& path, std::string& aside);

/// Puts right what writers of `path` that were killed left beside it. What is unfinished, and of which nobody holds the
/// lock, is removed. A folder that was moved away goes back when `path` is missing; otherwise its files with names
/// among `replaceable` (or `everything`) are removed, and it too when that leaves it empty. Never throws: leftovers do
/// no harm.
void clear_leftovers(const std::string& path, const std::vector<std::string>& replaceable = {},
                     bool everything = false);

/// The name of the target that `name` was written or moved away for, "" when it is no name of name_aside().
std::string target_of_aside(std::string_view name);

}  // namespace longspan::internal
