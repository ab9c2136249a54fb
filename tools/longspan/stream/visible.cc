#include "visible.h"

#include <cstddef>

namespace longspan::tool {

namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Bytes of the character that `text` begins with; 0 for a control character and what is no UTF-8.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t size = first >= 0xF5 ? 0 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if (!continues(text[i])) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  // Beyond ASCII the control characters are C2 80 to C2 9F. Overlong forms, surrogates and what lies beyond U+10FFFF:
  if (first == 0xC2 && second < 0xA0) return 0;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
  return size;
}

std::string escaped(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      constexpr const char* kDigits = "0123456789abcdef";
      const auto value = static_cast<unsigned char>(byte);
      return std::string("\\x") + kDigits[value >> 4] + kDigits[value & 15];
  }
}

}  // namespace

std::string visible(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t size = character(bytes);
    if (bytes.front() == '\\')
      out += "\\\\";
    else if (size == 0)
      out += escaped(bytes.front());
    else
      out += bytes.substr(0, size);
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::string_view from_whole_character(std::string_view bytes) {
  std::size_t cut = 0;
  while (cut < bytes.size() && cut < 3 && continues(bytes[cut])) ++cut;
  return bytes.substr(cut);
}

}  // namespace longspan::tool
