// Choosing the next token from its logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "longspan/base/fields.h"

namespace longspan::models {

/// Tokens of its past that a stream remembers for the repetition penalty; bounds the window.
inline constexpr int64_t kRecentTokens = 4096;

/// How a token is drawn. In this order: the repetition penalty changes the logits, the temperature divides them, top_k,
/// top_p and min_p leave candidates, one of which is drawn by its probability.
struct SamplingOptions {
  double temperature = 1;  ///< 0: greedy, the most likely token (the lowest id among equals)
  int64_t top_k = 0;       ///< keep the k most likely, 0 = all
  /// Keep the smallest set of most likely tokens with at least this part of the probability of those top_k left
  /// (Holtzman et al., "The curious case of neural text degeneration", 2020).
  double top_p = 1;
  /// Keep tokens at least this many times as probable as the most likely one (Nguyen et al., "Turning up the heat:
  /// min-p sampling", 2024).
  double min_p = 0;
  /// Positive logits of tokens within the window are divided by it, negative ones multiplied (Keskar et al., "CTRL",
  /// 2019); 1 = none, below 1 favours them.
  double repetition_penalty = 1;
  int64_t repetition_window = 256;  ///< last tokens of the stream, prompt included, that are penalised
  int64_t seed = 0;                 ///< equal seeds give equal text on one machine
};

/// One draw from logits [V] of the float types: `uniform` in [0, 1) decides. `recent`: the stream's last tokens, oldest
/// first; no more than repetition_window of them count. RunError for a logit that is not finite.
/// O(V), sorts candidates only as far as top_p needs them.
int64_t sample(const at::Tensor& logits, const SamplingOptions& options, std::span<const int64_t> recent,
               double uniform);

/// The number in [0, 1) that decides the token at `position` of a stream: a function of both arguments alone, so that a
/// text that is continued later needs nothing but its seed.
double draw_of(int64_t seed, int64_t position);

}  // namespace longspan::models
