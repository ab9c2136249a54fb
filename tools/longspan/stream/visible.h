// Bytes of any kind as one line that a terminal shows and does not obey.
#pragma once

#include <string>
#include <string_view>

namespace longspan::tool {

/// Line breaks, tabs and backslashes as \n, \r, \t, \\, other control characters and what is not UTF-8 as \xNN, all
/// else as it is.
std::string visible(std::string_view bytes);

/// `bytes` without what its beginning holds of a character that was cut through.
std::string_view from_whole_character(std::string_view bytes);

}  // namespace longspan::tool
