// What tokenizers ask of Unicode, by utf8proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longspan::unicode {

/// The character at the start of `text`, which must be valid UTF-8 and not empty, and its bytes.
struct Character {
  int32_t code;
  std::size_t size;
};
Character first(std::string_view text);
/// The character that ends at `end`.
Character before(std::string_view text, std::size_t end);
void append(std::string& out, int32_t code);

bool is_white_space(int32_t code);  ///< White_Space
bool is_letter(int32_t code);       ///< general category L
bool is_number(int32_t code);       ///< N
bool is_punctuation(int32_t code);  ///< P
bool is_nonspacing(int32_t code);   ///< Mn
bool is_mark(int32_t code);         ///< M
bool is_other(int32_t code);        ///< Cc, Cf or Co
bool is_word(int32_t code);         ///< \w of regular expressions: letters, marks, Nd, Pc, other alphabetics, joiners

enum class Form { nfc, nfd, nfkc, nfkd };
/// `text` in a normal form.
std::string normalized(std::string_view text, Form form);
/// Appends the lower case of a character, by itself (no rule for the end of a word).
void append_lower(std::string& out, int32_t code);
/// Whether a cluster of characters that a reader takes for one goes on between two; `state` is 0 at the start.
bool joins(int32_t left, int32_t right, int32_t& state);

}  // namespace longspan::unicode
