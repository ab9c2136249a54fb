// Softmax attention over two disjoint sets of keys, merged by log-sum-exp.
#pragma once

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// Queries q [B, H, N, D] at positions M ... M + N - 1 read all of `past_k`, `past_v` [B, H, M, D] and causally `k`,
/// `v` [B, H, N, D]: what a cache needs, without an N x (M + N) mask (the library aligns a causal mask top-left). With
/// partial results (o_a, lse_a) and (o_b, lse_b):
///
///   lse = log(e^lse_a + e^lse_b),   o = o_a e^(lse_a - lse) + o_b e^(lse_b - lse)
///
/// Scores are scaled by 1 / sqrt(D). Differentiable once in all five. M and N may be 0. On the CPU both parts, forward
/// and backward, are the library's flash attention; elsewhere matrix products with N x M and N x N scores.
at::Tensor merged_attention(const at::Tensor& q, const at::Tensor& past_k, const at::Tensor& past_v,
                            const at::Tensor& k, const at::Tensor& v);

}  // namespace longspan::nn
