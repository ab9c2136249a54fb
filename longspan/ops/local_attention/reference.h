// The composed form of local_attention: equations 1 and 2 of docs/ops/local_attention.md in ATen operators, with the
// full N x M score matrix of each sequence. Exact, differentiable any number of times, on every device and floating
// dtype (16-bit ones are computed in float32); quadratic in time and memory. It is the backend `reference`, and the
// fallback where there is no kernel.
#pragma once

#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {

/// out and lse; lse carries no gradient. Checks its arguments.
std::tuple<at::Tensor, at::Tensor> composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                            const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                            std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                            const OptionalTensor& cu_seqlens_k);

}  // namespace longspan::ops::local
