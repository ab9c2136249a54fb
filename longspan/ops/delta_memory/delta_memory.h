// The operators longspan::delta_memory and longspan::delta_memory_extend; docs/ops/delta_memory.md has definition,
// gradient and cost.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <tuple>

namespace longspan::ops {

/// Everything about the operators that is neither read nor remembered.
struct DeltaMemoryOptions {
  /// What is written: true the error of what the key reads, false the value itself.
  bool delta = true;
  /// Borders of packed sequences (then B = 1): [S + 1], int64 or int32, on the CPU or beside q, ascending from 0 to N.
  std::optional<at::Tensor> cu_seqlens = std::nullopt;
  /// "auto" (the kernel where there is one, else the composed form), "kernel", "composed" (any device and dtype, a
  /// fixed number of ATen calls) or "reference" (row by row in float64).
  std::string_view backend = "auto";
};

/// A matrix of R slots by D values that decays, is written by a delta rule (or plain addition) and read by a product.
/// With alpha_t = exp(log_alpha_t), for each batch row and head:
///
///     S' = Diag(alpha_t) S_{t-1};   e_t = v_t - S'^T k_t (delta), v_t (else);   S_t = S' + beta_t k_t e_t^T
///     out_t = S_t^T q_t
///
/// q, k [B, H, N, R], v [B, H, N, D], beta [B, H, N] (meant for (0, 2), with keys of norm 1), log_alpha none, [B, H, N]
/// or [B, H, N, R] (at most 0; -infinity forgets everything), state [B, H, R, D] (with cu_seqlens: [S, H, R, D]) or
/// none = zeros
///   -> out [B, H, N, D] in the dtype of q, and the state behind the last row [B or S, H, R, D] in the dtype of the
///      sums (float32; float64 beside float64).
///
/// k, v: the dtype of q. beta, log_alpha, state: the dtype of the sums, or that of q. Heads of q, k, v, beta, log_alpha
/// are equal: expand shared ones, strides of 0 are read in place.
///
/// Kernels for float32, float64 and bfloat16 (computed in float32) on the CPU with R, D <= 256, differentiable once in
/// all tensors but the borders. Everything else takes the composed form. Raises c10::ValueError (ValueError in Python),
/// one line that names argument, rule and value.
std::tuple<at::Tensor, at::Tensor> delta_memory(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const at::Tensor& beta, const std::optional<at::Tensor>& log_alpha,
                                                const std::optional<at::Tensor>& state = std::nullopt,
                                                const DeltaMemoryOptions& options = {});

/// What a stream remembers; all zeros before its first row. C = 16, kernels::kDeltaChunk. Of the chunk under way there
/// are position mod C rows; what stands behind them is never read, and zero in a state that the operator returned.
/// Floating tensors have the dtype of the sums.
struct DeltaMemoryState {
  at::Tensor memory;  ///< [B, H, R, D] at the last chunk border (absolute position, a multiple of C)
  at::Tensor keys;    ///< [B, H, C, R] of the chunk under way
  at::Tensor writes;  ///< [B, H, C, D] beta_t e_t of the chunk under way
  std::optional<at::Tensor> log_alpha = std::nullopt;  ///< [B, H, C] or [B, H, C, R]; none without decay
  at::Tensor position;                                 ///< [B] int64: tokens consumed
};

/// Goes on from a state; returns out and the state after the last row. Any cutting of a stream into calls gives the
/// bits of one call (kernel). Differentiable in all inputs and in the state's floating tensors. With cu_seqlens the
/// state has one row for each of the S sequences, in the place of B.
std::tuple<at::Tensor, DeltaMemoryState> delta_memory_extend(const at::Tensor& q, const at::Tensor& k,
                                                             const at::Tensor& v, const at::Tensor& beta,
                                                             const std::optional<at::Tensor>& log_alpha,
                                                             const DeltaMemoryState& state,
                                                             const DeltaMemoryOptions& options = {});

}  // namespace longspan::ops
