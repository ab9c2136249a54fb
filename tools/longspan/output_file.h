// What a flag that names a file to write may replace: a file of its own kind, never a text or a model. All of these are
// an InputError naming the flag where the file's folder does not exist, too.
#pragma once

#include <string>

namespace longspan::tool {

/// InputError naming `flag` unless `path` is free or holds a state that --save-state wrote.
void check_replaces_state(const std::string& flag, const std::string& path);
/// InputError naming `flag` unless `path` is free or holds a picture that --svg wrote.
void check_replaces_svg(const std::string& flag, const std::string& path);
/// InputError naming `flag` unless `path` is free or holds a table whose first line begins with `columns`.
void check_replaces_csv(const std::string& flag, const std::string& path, const std::string& columns);

}  // namespace longspan::tool
