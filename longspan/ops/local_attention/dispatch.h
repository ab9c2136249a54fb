// Calls of the operators through the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <tuple>

#include "longspan/ops/common/optional.h"

namespace longspan::ops::local {

std::tuple<at::Tensor, at::Tensor> call_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                                std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                                const OptionalTensor& cu_seqlens_k, std::string_view backend);

/// dq, dk, dv in the layouts of q, k, v, and dtable, which is empty without a table.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> call_backward(
    const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const OptionalTensor& table,
    const at::Tensor& out, const at::Tensor& lse, int64_t reach_left, int64_t reach_right, std::optional<double> scale,
    const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_k);

}  // namespace longspan::ops::local
