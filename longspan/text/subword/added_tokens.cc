#include "longspan/text/subword/added_tokens.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/text/subword/text_cuts.h"
#include "longspan/text/subword/unicode.h"

namespace longspan {

namespace {

bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

bool letter_or_number(int32_t code) { return unicode::is_letter(code) || unicode::is_number(code); }

/// Whether a cut at one of the places (CutPlaces) can fall into `text`.
CutPlaces cuts_beside(const AddedToken& token, std::string_view text) {
  CutPlaces out = kCutAnywhere;
  // What is beside a word decides whether it is one: punctuation would be missed there.
  if (token.single_word) out.at_punctuation = false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (ends_word(text, i)) out.at_punctuation = false;
    if (text[i] == ' ' && !is_blank(text[i - 1])) out.at_blanks = false;
    if (is_blank(text[i]) != is_blank(text[i - 1])) out.at_lines = false;
  }
  if (token.lstrip && letter_or_number(unicode::first(text).code)) return kCutNowhere;
  if (token.rstrip && letter_or_number(unicode::before(text, text.size()).code)) return kCutNowhere;
  return out;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens, const std::vector<std::string>& texts)
    : tokens_(tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (texts[i].empty()) continue;
    tree_.add(texts[i], static_cast<uint32_t>(i));
    cuts_ = cuts_ & cuts_beside(tokens[i], texts[i]);
  }
}

bool AddedTokenFinder::find(std::string_view text, std::size_t done, std::size_t& from, Found& found) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!tree_.begins(static_cast<unsigned char>(text[at]))) continue;
    std::size_t size = 0;
    uint32_t index = 0;
    tree_.prefixes(text.substr(at), [&](std::size_t length, uint32_t value) {
      size = length;
      index = value;
    });
    if (size == 0) continue;
    const AddedToken& token = tokens_[index];
    std::size_t begin = at, end = at + size;
    from = end;
    if (token.single_word && ((begin > 0 && unicode::is_word(unicode::before(text, begin).code)) ||
                              (end < text.size() && unicode::is_word(unicode::first(text.substr(end)).code)))) {
      at = end - 1;
      continue;
    }
    while (token.lstrip && begin > done) {
      const auto blank = unicode::before(text, begin);
      if (!unicode::is_white_space(blank.code)) break;
      begin -= std::min(blank.size, begin - done);
    }
    while (token.rstrip && end < text.size()) {
      const auto blank = unicode::first(text.substr(end));
      if (!unicode::is_white_space(blank.code)) break;
      end += blank.size;
    }
    found = {begin, end, token.id};
    return true;
  }
  return false;
}

}  // namespace longspan
