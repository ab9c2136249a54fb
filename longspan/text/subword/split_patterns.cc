#include "longspan/text/subword/split_patterns.h"

#include <algorithm>
#include <iterator>

namespace longspan {

bool cuts_at_blanks(std::string_view pattern) {
  // The forms of tokenizer.json besides: Llama 3, Qwen 2, the plain one of cl100k.
  static constexpr std::string_view kKnown[] = {
      kGpt2Pattern,
      kCl100kPattern,
      kO200kPattern,
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};
  return std::find(std::begin(kKnown), std::end(kKnown), pattern) != std::end(kKnown);
}

const std::vector<KnownRanks>& known_ranks() {
  static const std::vector<KnownRanks> table = {
      {"gpt2", kGpt2Pattern, 50256, {{"<|endoftext|>", 50256}}},
      {"cl100k",
       kCl100kPattern,
       100256,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k", kO200kPattern, 199998, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
  };
  return table;
}

}  // namespace longspan
