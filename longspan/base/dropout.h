// Which elements dropout keeps: a pure function of the seed and of where the element stands, so that every form of an
// operator, and a backward pass that recomputes, sees the same mask whatever the order of its work.
#pragma once

#include <cstdint>

#include "longspan/base/rng.h"

namespace longspan {

/// Dropout of a matrix of probabilities for every row of a batch (or packed sequence) and query head. Element (i, j) is
/// kept and multiplied by scale(), or becomes zero. i is the position of the query in its sequence (a stream's from its
/// beginning), j that of the key or the number of the slot.
struct Dropout {
  double probability = 0;  ///< of becoming zero, in [0, 1)
  uint64_t seed = 0;

  bool active() const { return probability > 0; }
  double scale() const { return 1 / (1 - probability); }
  /// floor(probability 2^32): an element is kept when its word is not below.
  uint32_t threshold() const { return static_cast<uint32_t>(probability * 0x1p32); }

  /// Words of the elements (i, 4 group) to (i, 4 group + 3): one block of Philox4x32-10, from the low words of the
  /// counters.
  std::array<uint32_t, 4> words(int64_t row, int64_t head, int64_t i, int64_t group) const {
    const auto low = [](auto x) { return static_cast<uint32_t>(x); };
    return philox4x32({low(i), low(group), low(head), low(row)}, {low(seed), low(seed >> 32)});
  }
  bool keeps(int64_t row, int64_t head, int64_t i, int64_t j) const {
    return words(row, head, i, j >> 2)[static_cast<std::size_t>(j & 3)] >= threshold();
  }
};

/// Dropout of one query head of one batch row (or packed sequence).
struct HeadDropout : Dropout {
  int64_t row = 0, head = 0;
  int64_t start = 0;  ///< added to positions i and j
};

}  // namespace longspan
