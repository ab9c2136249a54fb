// UTF-8: what is no text, and where a stream of it may be cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longspan {

/// Offset of the first byte that no valid UTF-8 has there (RFC 3629: shortest forms only, no surrogates, at most
/// U+10FFFF; an unfinished character at the end counts), or npos.
std::size_t invalid_utf8(std::string_view text);

/// What is wrong with `text`, which begins at byte `offset` of a larger one, when that is not UTF-8: "is not UTF-8 at
/// byte 12 of the text (0xe9); ..."; else "".
std::string utf8_fault(std::string_view text, int64_t offset);

/// Characters of `text`: those of UTF-8, and every byte that belongs to none.
std::size_t count_characters(std::string_view text);
/// Where the character begins that byte `at` of `text` belongs to, and where the one ends before whose end `at` lies:
/// `at` itself at a border of characters, and where there is no UTF-8.
std::size_t character_begin(std::string_view text, std::size_t at);
std::size_t character_end(std::string_view text, std::size_t at);

/// Bytes at the start of `text` that can be shown: everything but an unfinished character at the end. Bytes that are no
/// UTF-8 at all are passed through, never held back for more than three bytes.
std::size_t whole_characters(std::string_view text);

}  // namespace longspan
