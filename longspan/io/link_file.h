// Further names for what is on the disk already.
#pragma once

#include <string>

namespace longspan {

/// Makes `to` a second name of the file `from` (a hard link), replacing a file that has that name, in one rename: no
/// byte is written twice. Where the file system has no such links `to` becomes a copy. RunError that names `to` and the
/// reason.
void link_file(const std::string& from, const std::string& to);

/// Makes `to` a copy of `from` through AtomicFile.
void copy_file(const std::string& from, const std::string& to);

/// Makes `link` a symbolic link to `target` (relative to the folder of `link`), replacing another link or file in one
/// rename. RunError that names `link` and the reason.
void point_link(const std::string& link, const std::string& target);

}  // namespace longspan
