// Cutting a stream of bytes at whole UTF-8 characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace longspan::tool {

/// Bytes at the start of `text` that can be shown: everything but an unfinished character at the end. Bytes that are no
/// UTF-8 at all are passed through, never held back for more than three bytes.
inline std::size_t whole_characters(std::string_view text) {
  const std::size_t size = text.size();
  for (std::size_t back = 1; back <= 3 && back <= size; ++back) {
    const auto byte = static_cast<unsigned char>(text[size - back]);
    if ((byte & 0xC0) == 0x80) continue;  // within a character: look for its first byte
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? size - back : size;
  }
  return size;
}

}  // namespace longspan::tool
