// The characters of UTF-8, one at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace longspan {

/// Whether a byte is one that a character of UTF-8 does not begin with.
inline bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Bytes of the character at the start of `text`, 1 to 4; 0 where there is none (RFC 3629: shortest forms only, no
/// surrogates, at most U+10FFFF; also for an unfinished one and for no text).
inline std::size_t utf8_character(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues_character(text[i])) return 0;
  // The second byte tells longer forms than needed, surrogates and what is beyond U+10FFFF.
  const unsigned char second = at(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

}  // namespace longspan
