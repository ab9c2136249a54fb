// The operator longspan::local_attention; docs/ops/local_attention.md has definition, gradient and cost.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace longspan::ops {

/// Softmax attention over a sliding window of keys.
///
///   q [B, H, N, D], k [B, H, M, D], v [B, H, M, Dv] -> out [B, H, N, Dv]
///
/// Query row i stands at key position p = M - N + i (the last queries, M >= N) and reads the keys j with
/// -reach_left <= j - p <= reach_right. `table` [H, 2c + 1] or [1, 2c + 1] (c >= both reaches) adds table[h, j - p + c]
/// to a score; it has a gradient. `scale` defaults to 1 / sqrt(D). A row without keys gives zeros.
///
/// Packed sequences: B = 1 and `cu_seqlens` [S + 1] (int64 or int32, CPU, ascending from 0 to N), `cu_seqlens_k` for
/// the keys where they differ. Kernels for float32 and float64 on the CPU (bfloat16 and float16 under autocast are
/// computed in float32); any strides. `backend`: "auto" (the kernel where there is one, else the composed form),
/// "kernel", "reference" (the composed form: quadratic, any device and dtype); backend_log.h tells which one ran.
/// Differentiable once. Errors: c10::ValueError (ValueError in Python) with one line
/// "local_attention: <argument>: expected ..., got ...".
at::Tensor local_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::optional<at::Tensor>& table, int64_t reach_left, int64_t reach_right,
                           std::optional<double> scale = std::nullopt,
                           const std::optional<at::Tensor>& cu_seqlens = std::nullopt,
                           const std::optional<at::Tensor>& cu_seqlens_k = std::nullopt,
                           std::string_view backend = "auto");

/// The same, with the row log-sum-exp [B, H, N] (not differentiable) as second result.
std::tuple<at::Tensor, at::Tensor> local_attention_forward(
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& table,
    int64_t reach_left, int64_t reach_right, std::optional<double> scale, const std::optional<at::Tensor>& cu_seqlens,
    const std::optional<at::Tensor>& cu_seqlens_k, std::string_view backend = "auto");

}  // namespace longspan::ops
