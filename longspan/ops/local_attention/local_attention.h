// The operator longspan::local_attention; docs/ops/local_attention.md has definition, gradient and cost.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace longspan::ops {

/// Everything about local_attention that is not attended over.
struct LocalAttentionOptions {
  int64_t reach_left = 0;   ///< keys that a row reads before its own, 0 or more
  int64_t reach_right = 0;  ///< keys that it reads behind its own, 0 or more
  /// Of the scores; 1 / sqrt(D) unless given.
  std::optional<double> scale = std::nullopt;
  /// Borders of packed sequences (then B = 1): [S + 1], int64 or int32, on the CPU or beside q, ascending from 0 to N.
  /// On another device the composed form does not check their values.
  std::optional<at::Tensor> cu_seqlens = std::nullopt;
  /// Those of the keys, where they differ.
  std::optional<at::Tensor> cu_seqlens_k = std::nullopt;
  /// Probability with which a softmax weight becomes zero, in [0, 1); the others are multiplied by 1 / (1 - dropout).
  double dropout = 0;
  /// int64, no dimensions, on the CPU or beside q; needed where dropout > 0. base/dropout.h says what it decides.
  std::optional<at::Tensor> dropout_seed = std::nullopt;
  /// [sequences, 2] int64, on the CPU or beside q: the row, and the position of the first key, that dropout counts each
  /// batch row or packed sequence from; absent, its number and 0. With those of a stream's beginning the masks do not
  /// depend on how it is cut.
  std::optional<at::Tensor> dropout_origin = std::nullopt;
  /// The result of 16-bit operands is float32 and not rounded to their dtype.
  bool float32_out = false;
  /// "auto" (the kernel where there is one, else the composed form), "kernel", "composed" (any device and dtype, linear
  /// memory), "reference" (the same, quadratic); the last two are differentiable any number of times. backend_log.h
  /// tells which one ran.
  std::string_view backend = "auto";
};

/// Softmax attention over a sliding window of keys.
///
///   q [B, H, N, D], k [B, Hk, M, D], v [B, Hk, M, Dv] -> out [B, H, N, Dv]
///
/// Query row i stands at key position p = M - N + i (the last queries, M >= N) and reads the keys j with
/// -reach_left <= j - p <= reach_right. Hk divides H: query head h reads key head h / (H / Hk), without a copy. `table`
/// [H, 2c + 1] or [1, 2c + 1] (c >= both reaches) adds table[h, j - p + c] to a score; it has a gradient.
///
/// Kernels for float32, float64 and bfloat16 (sums in float32, a float32 table is allowed) on the CPU; any strides.
/// Everything else takes the composed form. The kernel is differentiable once, in q, k, v and table. Errors:
/// c10::ValueError (ValueError in Python) with one line "local_attention: <argument>: expected ..., got ...".
at::Tensor local_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::optional<at::Tensor>& table, const LocalAttentionOptions& options);

/// The same, with the row log-sum-exp [B, H, N] (before dropout; float64 for float64 operands, else float32; not
/// differentiable) as second result.
std::tuple<at::Tensor, at::Tensor> local_attention_forward(const at::Tensor& q, const at::Tensor& k,
                                                           const at::Tensor& v, const std::optional<at::Tensor>& table,
                                                           const LocalAttentionOptions& options);

}  // namespace longspan::ops
