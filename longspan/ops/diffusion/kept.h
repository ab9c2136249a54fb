// What the forward pass of the kernel keeps for the backward pass: which, and how large.
#pragma once

#include <vector>

#include "longspan/ops/diffusion/check.h"

namespace longspan::ops::diffuse {

/// Numbers of the weights of all sequences and heads; needs patterns that have_values() and operands that passed
/// check().
int64_t count_weights(const Inputs& x, const Patterns& patterns, int64_t sequences);

inline void check_kept_weights(int64_t given, int64_t count) {
  TORCH_CHECK_VALUE(given == -1 || given == count, kOp, ": kept_weights: expected ", count,
                    ", the number of the patterns' weights, -1 or 0, got ", given);
}

/// As DiffusionForward has it.
template <class Int>
std::vector<Int> states_shape(const Shape<Int>& s, const Options& o) {
  if (o.cu_seqlens) return {s.heads, s.hops, s.rows, s.value_width};
  return {s.batch, s.heads, s.hops, s.rows, s.value_width};
}

/// Raises ValueError for weights and states that cannot be those of the call. `weight_count`: numbers of all weights.
inline void check_kept(const Shape<int64_t>& s, const Kept& kept, int64_t weight_count, const Options& o,
                       const Inputs& x) {
  if (kept.weights) check_result<int64_t>(kOp, "weights", *kept.weights, {weight_count}, sum_dtype(x.q), x.q);
  if (!kept.states) return;
  const std::vector<int64_t> shape = states_shape(s, o);
  check_result<int64_t>(kOp, "states", *kept.states, shape, sum_dtype(x.q), x.q);
}

}  // namespace longspan::ops::diffuse
