// Training windows at random places of a token file.
#pragma once

#include <cstdint>

#include "longspan/data/token_file.h"

namespace longspan {

/// Windows of n + 1 tokens (n inputs and, shifted by one, n targets) whose starts are uniform over all that fit. The
/// window of (seed, step, row) never depends on what was sampled before: resuming needs only the step.
class WindowSampler {
 public:
  /// `tokens` must outlive the sampler. Throws InputError when it holds fewer than n + 1 tokens, or n < 1.
  WindowSampler(const TokenFile& tokens, int64_t n, uint64_t seed);

  /// Tokens per window, n + 1.
  int64_t window() const { return n_ + 1; }
  /// First token of a window.
  int64_t start(int64_t step, int64_t row) const;
  /// Windows of rows 0 .. batch - 1 of a step to `out`, [batch, n + 1], row-major.
  void fill(int64_t* out, int64_t step, int64_t batch) const;

 private:
  const TokenFile& tokens_;
  int64_t n_;
  uint64_t seed_;
};

}  // namespace longspan
