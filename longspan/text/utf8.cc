#include "longspan/text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"

namespace longspan {

std::size_t invalid_utf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  std::size_t i = 0;
  while (i < text.size()) {
    uint64_t eight;
    if (text.size() - i >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + i, sizeof(eight));
      if ((eight & kHighBits) == 0) {  // ASCII, eight at a time
        i += sizeof(eight);
        continue;
      }
    }
    const std::size_t length = utf8_character(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string utf8_fault(std::string_view text, int64_t offset) {
  const std::size_t at = invalid_utf8(text);
  if (at == std::string_view::npos) return "";
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(text[at]);
  return str_cat("is not UTF-8 at byte ", offset + static_cast<int64_t>(at), " of the text (0x", kDigits[byte >> 4],
                 kDigits[byte & 15], "); convert it, or use the tokenizer bytes");
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(std::max<std::size_t>(1, utf8_character(text)));
  return count;
}

std::size_t character_begin(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t back = 1; back < kLongest && back <= at; ++back) {
    const std::size_t begin = at - back;
    if (!continues_character(text[begin])) return utf8_character(text.substr(begin)) > back ? begin : at;
  }
  return at;
}

std::size_t character_end(std::string_view text, std::size_t at) {
  const std::size_t begin = character_begin(text, at);
  return begin < at ? begin + utf8_character(text.substr(begin)) : at;
}

std::size_t whole_characters(std::string_view text) {
  const std::size_t size = text.size();
  for (std::size_t back = 1; back <= 3 && back <= size; ++back) {
    const auto byte = static_cast<unsigned char>(text[size - back]);
    if (continues_character(text[size - back])) continue;  // within a character: look for its first byte
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? size - back : size;
  }
  return size;
}

}  // namespace longspan
