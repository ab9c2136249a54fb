// The operators longspan::orthogonal_memory and longspan::orthogonal_memory_extend; docs/ops/orthogonal_memory.md has
// definition, gradient and cost.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace longspan::ops {

/// Everything about the operators that is neither read nor remembered.
struct OrthogonalMemoryOptions {
  /// Of the slot scores.
  double scale = 1;
  /// Borders of packed sequences (then B = 1): [S + 1], int64 or int32, on the CPU or beside q, ascending from 0 to N.
  /// On another device the composed form does not check their values.
  std::optional<at::Tensor> cu_seqlens = std::nullopt;
  /// Those of the sources of the full form, where they differ.
  std::optional<at::Tensor> cu_seqlens_source = std::nullopt;
  /// Causal: 0, position t reads the mean over j <= t; w > 0, the mean over the complete windows before its own,
  /// j < floor(t / w) w, and zeros in the first window.
  int64_t window = 0;
  /// Type of the running sums: "float64", "float32_compensated" (a sum and its correction) or "float32".
  std::string_view accumulator = "float64";
  /// Probability with which the reading weight of a slot becomes zero, in [0, 1); the others are multiplied by
  /// 1 / (1 - dropout).
  double dropout = 0;
  /// int64, no dimensions, on the CPU or beside q; needed where dropout > 0. base/dropout.h says what it decides.
  std::optional<at::Tensor> dropout_seed = std::nullopt;
  /// As for local_attention, but that the reference is linear in memory too.
  std::string_view backend = "auto";
};

/// Reading of a running mean of projected features through orthogonal slots (CODE of LAVO).
///
///   q [B, H, N, D], m [B, Hm, M, D], basis [H, R, D] or [1, R, D] -> out [B, H, N, D]
///
/// Hm divides H: query head h reads the features of head h / (H / Hm), without a copy. `form`: "causal" (M = N,
/// position t reads the mean over j <= t), "full" (noncausal self and cross: every query reads the mean over all M
/// sources; M = 0 gives zeros).
///
/// Kernels for float32, float64 and bfloat16 (computed in float32; m and basis may be float32 beside a bfloat16 q) on
/// the CPU, differentiable once in q, m and basis; any strides. Everything else takes the composed form. `out` has the
/// dtype of q. Errors as for local_attention.
at::Tensor orthogonal_memory(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                             const OrthogonalMemoryOptions& options = {});

/// What the causal form remembers of a stream; all zeros before its first row.
struct OrthogonalMemoryState {
  /// Sums over the complete chunks of 256 positions, and over the chunk under way: [B, H, R] float64, [B, H, R] float32
  /// for the accumulator float32, [B, H, 2 R] float32 (R sums, then their R corrections) for float32_compensated.
  at::Tensor closed, open;
  /// [B] int64: positions consumed.
  at::Tensor count;
  /// [B, H, R] float64, with a window only: the memory that the window under way reads.
  std::optional<at::Tensor> visible = std::nullopt;
};

/// The causal form, going on from a state; returns out and the state after the last row. With the kernel any cutting of
/// a stream into calls gives the same bits as one call of orthogonal_memory. Differentiable in q, m, basis, closed,
/// open and visible. With `cu_seqlens` the state has one row for each of the S sequences.
std::tuple<at::Tensor, OrthogonalMemoryState> orthogonal_memory_extend(const at::Tensor& q, const at::Tensor& m,
                                                                       const at::Tensor& basis,
                                                                       const OrthogonalMemoryState& state,
                                                                       const OrthogonalMemoryOptions& options = {});

}  // namespace longspan::ops
