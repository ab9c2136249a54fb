#include "longspan/text/subword/text_cuts.h"

#include <algorithm>

#include "longspan/base/utf8_character.h"
#include "longspan/text/pieces.h"
#include "longspan/text/subword/unicode.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

constexpr std::size_t kUsualPiece = std::size_t{1} << 16;

bool is_letter_or_number(int32_t code) {
  if (code < 0x80) return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  return unicode::is_letter(code) || unicode::is_number(code);
}

/// The whole character that ends at `end`, -1 where there is none.
int32_t character_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && continues_character(text[begin])) --begin;
  const std::string_view character = text.substr(begin, end - begin);
  return utf8_character(character) == character.size() ? unicode::first(character).code : -1;
}

bool is_letter_at(std::string_view text, std::size_t at) {
  const std::size_t size = utf8_character(text.substr(at));
  return size > 0 && unicode::is_letter(unicode::first(text.substr(at, size)).code);
}

/// Whether text may be cut at `at`, which is neither its beginning nor its end.
bool is_cut(std::string_view text, std::size_t at, CutPlaces places) {
  const char behind = text[at];
  const bool other_blank = behind >= '\t' && behind <= '\r';
  if ((behind == ' ' && places.at_blanks) || (other_blank && places.at_lines))
    return is_letter_or_number(character_before(text, at));
  if (!places.at_lines || text[at - 1] != '\n' || at < 2) return false;
  const int32_t line_end = character_before(text, at - 1);
  return line_end >= 0 && !unicode::is_white_space(line_end) && is_letter_at(text, at);
}

}  // namespace

bool ends_word(std::string_view text, std::size_t at) {
  if (text[at] == '\'') return false;
  const std::size_t size = utf8_character(text.substr(at));
  if (size == 0) return false;
  const int32_t code = unicode::first(text.substr(at, size)).code;
  return unicode::is_punctuation(code) && !unicode::is_word(code) && is_letter_or_number(character_before(text, at));
}

std::size_t cut_text(std::string_view text, bool last, CutPlaces places) {
  if (last && text.size() <= kUsualPiece) return text.size();
  const std::size_t longest = std::min(text.size(), kLongestPiece + 1);
  if (places.at_blanks || places.at_lines)
    for (std::size_t at = std::min(text.size(), kUsualPiece + 1); --at > 0;)
      if (is_cut(text, at, places)) return at;
  if (text.size() > kUsualPiece) {
    if (places.at_punctuation)
      for (std::size_t at = kUsualPiece + 1; --at > 0;)
        if (ends_word(text, at)) return at;
    for (std::size_t at = kUsualPiece + 1; at < longest; ++at)
      if (is_cut(text, at, places) || (places.at_punctuation && ends_word(text, at))) return at;
  }
  if (text.size() <= kLongestPiece) return last ? text.size() : 0;
  const std::string_view start = text.substr(0, kLongestPiece);
  if (const std::size_t blank = start.find_last_of(" \t\n"); blank != std::string_view::npos && blank > 0) return blank;
  return whole_characters(start);
}

}  // namespace longspan
