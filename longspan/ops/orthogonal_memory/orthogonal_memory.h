// The operators longspan::orthogonal_memory and longspan::orthogonal_memory_extend; docs/ops/orthogonal_memory.md has
// definition, gradient and cost.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <tuple>

namespace longspan::ops {

/// Reading of a running mean of projected features through orthogonal slots (CODE of LAVO).
///
///   q [B, H, N, D], m [B, H, M, D], basis [H, R, D] or [1, R, D] -> out [B, H, N, D]
///
/// `form`: "causal" (M = N, position t reads the mean over j <= t), "full" (noncausal self and cross: every query reads
/// the mean over all M sources; M = 0 gives zeros). `scale` multiplies the slot scores. Running sums are float64.
///
/// Packed sequences: B = 1 and `cu_seqlens` [S + 1] for q, `cu_seqlens_source` for m where it differs. Kernels for
/// float32 and float64 on the CPU (bfloat16 and float16 under autocast are computed in float32); any strides.
/// Differentiable once in q, m and basis. `backend` and errors as for local_attention.
at::Tensor orthogonal_memory(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                             double scale = 1.0, const std::optional<at::Tensor>& cu_seqlens = std::nullopt,
                             const std::optional<at::Tensor>& cu_seqlens_source = std::nullopt,
                             std::string_view backend = "auto");

/// The causal form with a state: closed and open [B, H, R] float64 (sums over complete chunks of 256 positions and over
/// the chunk under way), count [B] int64 (positions consumed). Returns out and the state after the last row. Any
/// cutting of a stream into calls gives the same bits as one call of orthogonal_memory. Differentiable in q, m, basis,
/// closed and open. With `cu_seqlens` (B = 1 in q and m) the state has one row for each of the S sequences.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> orthogonal_memory_extend(
    const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed, const at::Tensor& open,
    const at::Tensor& count, double scale = 1.0, const std::optional<at::Tensor>& cu_seqlens = std::nullopt,
    std::string_view backend = "auto");

}  // namespace longspan::ops
