// The patterns that well-known byte-level vocabularies cut text by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace longspan {

inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kCl100kPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
inline constexpr std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// True for a pattern of which it is known that
/// - a match ends between a letter or number and the blank (White_Space) behind it,
/// - one ends between a letter or number and punctuation other than ' and the low line, and
/// - one ends behind a line feed between a character that is no blank and a letter,
/// and that cutting the text there changes no match on either side.
bool cuts_at_blanks(std::string_view pattern);

/// Where the match that begins at `at` ends, for a pattern of cuts_at_blanks() and the most usual of words: a blank or
/// none, a letter of any case, small letters, all ASCII, and behind them the end or ASCII that is no letter and no
/// apostrophe. 0: the pattern must tell.
inline std::size_t plain_word_end(std::string_view text, std::size_t at) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  if (at < text.size() && text[at] == ' ') ++at;
  if (at < text.size() && text[at] >= 'A' && text[at] <= 'Z') ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_small(text[at])) ++at;
  if (at == begin) return 0;
  if (at == text.size()) return at;
  const char next = text[at];
  const bool goes_on = static_cast<unsigned char>(next) >= 0x80 || (next >= 'A' && next <= 'Z') || next == '\'';
  return goes_on ? 0 : at;
}

/// What a file of ranks does not say about the tokenizer that it belongs to.
struct KnownRanks {
  std::string_view name;  ///< "gpt2", "cl100k", "o200k"
  std::string_view pattern;
  uint32_t ranks;                                              ///< how many the published file has
  std::vector<std::pair<std::string_view, uint32_t>> special;  ///< tokens beside the ranks
};
const std::vector<KnownRanks>& known_ranks();

}  // namespace longspan
