#include "visible.h"

#include <cstddef>

#include "longspan/base/utf8_character.h"

namespace longspan::tool {

namespace {

/// Bytes of the character that `text` begins with; 0 for a control character and what is no UTF-8.
std::size_t shown_character(std::string_view text) {
  const std::size_t size = utf8_character(text);
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (size == 1) return at(0) >= 0x20 && at(0) != 0x7F ? 1 : 0;
  const bool control = size == 2 && at(0) == 0xC2 && at(1) < 0xA0;  // beyond ASCII: C2 80 to C2 9F
  return control ? 0 : size;
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
    const std::size_t size = shown_character(bytes);
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
  while (cut < bytes.size() && cut < 3 && continues_character(bytes[cut])) ++cut;
  return bytes.substr(cut);
}

}  // namespace longspan::tool
