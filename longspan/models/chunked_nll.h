// The loss of a language model without the tensor of all logits.
#pragma once

#include <ATen/core/Tensor.h>

namespace longspan::models {

/// hidden [T, E], weight [V, E], targets [T] int64 -> nll [T]: log sum_v exp(s_tv) - s_t,target with scores s_tv =
/// <h_t, w_v> + b_v; bias b [V], none: 0.
///
/// Works through `chunk` rows at a time (0: as many as give 2^22 logits, at least 64, at most 4096). Rows that fit in
/// one chunk keep their logits for the backward pass, more rows recompute them. Differentiable in hidden, weight and
/// bias.
at::Tensor chunked_nll(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets, int64_t chunk = 0,
                       const at::Tensor& bias = {});

}  // namespace longspan::models
