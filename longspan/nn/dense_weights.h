// The whole matrix of a softmax attention, to look at.
#pragma once

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// softmax(q k^T / sqrt(D) + bias) over the keys that are not hidden, float64: q [B, H, N, D], k [B, Hk, M, D],
/// `hidden` bool [N, M] or undefined, `bias` float64 as it broadcasts to [B, H, N, M] or undefined. A query without
/// keys has zeros. [B, H, N, M]: N M numbers for each head.
at::Tensor dense_weights(const at::Tensor& q, const at::Tensor& k, const at::Tensor& hidden,
                         const at::Tensor& bias = {});

}  // namespace longspan::nn
