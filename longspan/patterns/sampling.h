// Drawing without replacement.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/patterns/csr.h"

namespace longspan::patterns {

/// What random numbers are for: with the layer and a row it names a stream, so that no two uses share one.
enum class Purpose : uint64_t { global_tokens = 1, row_keys = 2, block_keys = 3, total_pairs = 4 };

/// 32-bit numbers of the stream {purpose, layer, row} of a seed, four from each block of Philox4x32-10.
class Draws {
 public:
  Draws(uint64_t seed, Purpose purpose, int64_t layer, int64_t row);
  /// Uniform in [0, bound), without bias; bound >= 1.
  uint32_t below(uint32_t bound);

 private:
  uint32_t next();

  uint64_t seed_, stream_;
  uint64_t block_ = 0;
  std::array<uint32_t, 4> words_ = {};
  int used_ = 4;
};

/// Draws sets of numbers; keeps its memory between calls.
class Sampler {
 public:
  /// min(count, bound) different numbers of [0, bound), every set with the same probability (Floyd's method),
  /// ascending.
  const std::vector<int32_t>& sample(Draws& draws, int64_t bound, int64_t count);

 private:
  std::vector<uint64_t> taken_;  ///< a bit for each number; all zero between calls
  std::vector<int32_t> numbers_;
};

/// `count` different pairs of the N x N square, or below its diagonal where `past` is set, or all where there are
/// fewer; every set with the same probability. The same for any number of threads. N rows.
Csr sample_pairs(int64_t n, bool past, int64_t count, uint64_t seed, int64_t layer, const Parallel& parallel);

}  // namespace longspan::patterns
