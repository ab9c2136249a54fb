// What the forward pass of the kernel keeps for the backward pass: which, and how large.
#pragma once

#include <vector>

#include "longspan/ops/diffusion/check.h"

namespace longspan::ops::diffuse {

inline bool keeps_weights(const Options& o) { return o.edge_weights == "stored"; }
inline bool keeps_states(const Options& o) { return o.backward == "store_all"; }

/// Numbers of all weights; needs patterns that have_values().
c10::SymInt count_weights(const Inputs& x, const Patterns& patterns, const Shape<c10::SymInt>& s);

/// As DiffusionForward has it.
template <class Int>
std::vector<Int> states_shape(const Shape<Int>& s, const Options& o) {
  if (o.cu_seqlens) return {s.heads, s.hops, s.rows, s.value_width};
  return {s.batch, s.heads, s.hops, s.rows, s.value_width};
}

}  // namespace longspan::ops::diffuse
