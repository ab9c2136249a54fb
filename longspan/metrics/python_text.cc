#include "longspan/metrics/python_text.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

namespace longspan::metrics::internal {

namespace {

icu::StringPiece piece(std::string_view text) { return {text.data(), static_cast<int32_t>(text.size())}; }

}  // namespace

std::u32string lower_case(std::string_view text) {
  icu::UnicodeString lower = icu::UnicodeString::fromUTF8(piece(text));
  lower.toLower(icu::Locale::getRoot());
  std::u32string out;
  for (int32_t i = 0; i < lower.length(); i = lower.moveIndex32(i, 1)) out += static_cast<char32_t>(lower.char32At(i));
  return out;
}

bool is_word_character(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  return c == U'_' || u_isalpha(code) || u_getNumericValue(code) != U_NO_NUMERIC_VALUE;
}

bool is_blank(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  const UCharDirection direction = u_charDirection(code);
  return u_charType(code) == U_SPACE_SEPARATOR || direction == U_WHITE_SPACE_NEUTRAL ||
         direction == U_BLOCK_SEPARATOR || direction == U_SEGMENT_SEPARATOR;
}

std::string utf8(std::u32string_view text) {
  icu::UnicodeString whole;
  for (const char32_t c : text) whole.append(static_cast<UChar32>(c));
  std::string out;
  return whole.toUTF8String(out);
}

}  // namespace longspan::metrics::internal
