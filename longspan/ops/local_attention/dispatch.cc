#include "longspan/ops/local_attention/dispatch.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "longspan/ops/local_attention/local_attention.h"

namespace longspan::ops {
namespace local {

std::tuple<at::Tensor, at::Tensor> call_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                                std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                                const OptionalTensor& cu_seqlens_k, std::string_view backend) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("longspan::local_attention_forward", "")
                             .typed<decltype(call_forward)>();
  return op.call(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k, backend);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> call_backward(
    const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const OptionalTensor& table,
    const at::Tensor& out, const at::Tensor& lse, int64_t reach_left, int64_t reach_right, std::optional<double> scale,
    const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_k) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("longspan::local_attention_backward", "")
                             .typed<decltype(call_backward)>();
  return op.call(dout, q, k, v, table, out, lse, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k);
}

namespace {

at::Tensor composite(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const OptionalTensor& table,
                     int64_t reach_left, int64_t reach_right, std::optional<double> scale,
                     const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_k, std::string_view backend) {
  return std::get<0>(call_forward(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k, backend));
}

}  // namespace
}  // namespace local

std::tuple<at::Tensor, at::Tensor> local_attention_forward(
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& table,
    int64_t reach_left, int64_t reach_right, std::optional<double> scale, const std::optional<at::Tensor>& cu_seqlens,
    const std::optional<at::Tensor>& cu_seqlens_k, std::string_view backend) {
  return local::call_forward(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k, backend);
}

at::Tensor local_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::optional<at::Tensor>& table, int64_t reach_left, int64_t reach_right,
                           std::optional<double> scale, const std::optional<at::Tensor>& cu_seqlens,
                           const std::optional<at::Tensor>& cu_seqlens_k, std::string_view backend) {
  return local::composite(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k, backend);
}

}  // namespace longspan::ops

TORCH_LIBRARY_IMPL(longspan, CompositeImplicitAutograd, m) {
  m.impl("local_attention", TORCH_FN(longspan::ops::local::composite));
}
