// Values in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"

namespace longspan {

/// `text` with every byte as \xNN that moves a cursor, colours a terminal or is no UTF-8.
inline std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t size = utf8_character(text);
    // The controls of Latin-1, too, of which U+009B begins a sequence as ESC [ does.
    const bool control = byte < 0x20 || byte == 0x7F || (byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0);
    if (size > 0 && !control) {
      out += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    text.remove_prefix(1);
  }
  return out;
}

/// What a caller gave, for a message of one line: in quotes, printable, and where it is longer than `most` bytes its
/// beginning, cut between characters, and its length.
inline std::string in_quotes(std::string_view value, std::size_t most = 80) {
  if (value.size() <= most) return str_cat("'", printable(value), "'");
  std::size_t end = most;
  while (end > 0 && most - end < 4 && continues_character(value[end])) --end;
  return str_cat("'", printable(value.substr(0, end)), "...' (", value.size(), " bytes)");
}

}  // namespace longspan
