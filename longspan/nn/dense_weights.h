// The whole matrix of a softmax attention, to look at.
#pragma once

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// softmax(q k^T / sqrt(D) + bias) over the keys that are not hidden, float64: q [B, H, N, D], k [B, Hk, M, D],
/// `hidden` bool [N, M] or undefined, `bias` float64 as it broadcasts to [B, H, N, M] or undefined. A query without
/// keys has zeros. [B, H, N, M]: N M numbers for each head.
at::Tensor dense_weights(const at::Tensor& q, const at::Tensor& k, const at::Tensor& hidden,
                         const at::Tensor& bias = {});

/// The same over a sliding window: query i sees the keys at i - reach_left ... i + reach_right. `table`
/// [H or 1, 2 c + 1], c = max(reach_left, reach_right), or undefined: the score of offset o stands at o + c.
at::Tensor window_weights(const at::Tensor& q, const at::Tensor& k, const at::Tensor& table, int64_t reach_left,
                          int64_t reach_right);

}  // namespace longspan::nn
