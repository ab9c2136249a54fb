#include "generated_text.h"

#include <array>
#include <vector>

#include "longspan/base/rng.h"

namespace longspan::tool {

namespace {

constexpr uint64_t kWords = 256, kWordsOfDocument = 8, kWordsOfLine = 10, kLinesOfDocument = 20;

/// Words of two or three syllables; the numbers of the syllables spell the word's own, so that all differ.
std::vector<std::string> vocabulary(Rng& rng) {
  constexpr std::array<const char*, 16> syllables = {"ba", "den", "fo", "gil", "ha", "jor", "ke", "lum",
                                                     "mi", "nas", "po", "rit", "su", "tev", "wo", "zan"};
  std::vector<std::string> words;
  for (uint64_t word = 0; word < kWords; ++word) {
    words.push_back(std::string(syllables[word / 16]) + syllables[word % 16]);
    if (rng.below(2) == 0) words.back() += syllables[rng.below(16)];
  }
  return words;
}

}  // namespace

std::string generated_text(int64_t size, uint64_t seed) {
  Rng rng(seed, stream_of({0x7465787475616c}));
  const std::vector<std::string> words = vocabulary(rng);
  std::string text;
  while (static_cast<int64_t>(text.size()) < size) {
    std::array<uint64_t, kWordsOfDocument> own;
    for (uint64_t& word : own) word = rng.below(kWords);
    for (uint64_t i = 0; i < kLinesOfDocument * kWordsOfLine; ++i)
      text += words[own[rng.below(kWordsOfDocument)]] + (i % kWordsOfLine + 1 < kWordsOfLine ? ' ' : '\n');
    text += '\n';
  }
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace longspan::tool
