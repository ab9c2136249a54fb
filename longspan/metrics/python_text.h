// Text as Python's str has it: the public scorers of answers are written in Python, and what they call a lower case
// letter, a word or a blank is part of their definition.
#pragma once

#include <string>
#include <string_view>

namespace longspan::metrics::internal {

/// The characters of UTF-8 in lower case, as str.lower() (one may become two, a sigma looks at its neighbours). What is
/// not UTF-8 becomes U+FFFD.
std::u32string lower_case(std::string_view text);
/// Whether the regular expression \w matches: letters, numbers of any kind, and the low line; no combining marks.
bool is_word_character(char32_t c);
/// As str.isspace(), which str.split() parts words by.
bool is_blank(char32_t c);
/// As UTF-8.
std::string utf8(std::u32string_view text);

}  // namespace longspan::metrics::internal
