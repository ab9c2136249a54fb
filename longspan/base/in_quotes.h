// Values in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"

namespace longspan {

/// What a caller gave, for a message of one line: in quotes, and where it is longer than `most` bytes its beginning,
/// cut between characters, and its length.
inline std::string in_quotes(std::string_view value, std::size_t most = 80) {
  if (value.size() <= most) return str_cat("'", value, "'");
  std::size_t end = most;
  while (end > 0 && most - end < 4 && continues_character(value[end])) --end;
  return str_cat("'", value.substr(0, end), "...' (", value.size(), " bytes)");
}

}  // namespace longspan
