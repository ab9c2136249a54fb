// Tokens of the words that were met before.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/subword/subword_model.h"

namespace longspan {

/// Bounded, for one thread at a time: when a part of it is full, all words are forgotten. About 8 MiB.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 64;

  WordCache() : slots_(kSlots) {}

  /// The tokens of a word of at most kLongestWord bytes; data() is null when it is not there.
  std::span<const WordToken> find(std::string_view word, uint64_t hash) const {
    for (std::size_t at = hash % kSlots; slots_[at].size != 0; at = (at + 1) % kSlots) {
      const Slot& slot = slots_[at];
      if (slot.hash == static_cast<uint32_t>(hash >> 32) && slot.size == word.size() &&
          std::memcmp(texts_.data() + slot.text, word.data(), word.size()) == 0)
        return {tokens_.data() + slot.tokens, slot.count};
    }
    return {};
  }

  void add(std::string_view word, uint64_t hash, std::span<const WordToken> tokens) {
    if (used_ >= kSlots / 2 || texts_.size() >= kMostText || tokens_.size() >= kMostTokens) clear();
    std::size_t at = hash % kSlots;
    while (slots_[at].size != 0) at = (at + 1) % kSlots;
    slots_[at] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(texts_.size()),
                  static_cast<uint32_t>(tokens_.size()), static_cast<uint16_t>(word.size()),
                  static_cast<uint16_t>(tokens.size())};
    ++used_;
    texts_ += word;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }

  static uint64_t hash(std::string_view word) {
    uint64_t out = word.size() * kOdd;
    const char* at = word.data();
    std::size_t left = word.size();
    for (; left >= 8; at += 8, left -= 8) out = mixed(out, load(at, 8));
    return mixed(out, load(at, left));
  }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 17, kMostText = 2 << 20, kMostTokens = 1 << 18;
  static constexpr uint64_t kOdd = 0x9E3779B97F4A7C15u;
  struct Slot {
    uint32_t hash, text, tokens;
    uint16_t size, count;  ///< size 0: free
  };
  static uint64_t load(const char* at, std::size_t size) {
    uint64_t out = 0;
    std::memcpy(&out, at, size);
    return out;
  }
  static uint64_t mixed(uint64_t state, uint64_t word) {
    state = (state ^ word) * kOdd;
    return state ^ state >> 29;
  }
  void clear() {
    slots_.assign(kSlots, {});
    texts_.clear();
    tokens_.clear();
    used_ = 0;
  }

  std::vector<Slot> slots_;
  std::string texts_;
  std::vector<WordToken> tokens_;
  std::size_t used_ = 0;
};

}  // namespace longspan
