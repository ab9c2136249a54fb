#include "longspan/ops/local_attention/dispatch.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace longspan::ops {
namespace local {

Outputs call_forward(const Inputs& x, const Options& o) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("longspan::local_attention_forward", "")
                             .typed<decltype(flat_forward<call_forward>)>();
  return op.call(x.q, x.k, x.v, x.table, o.reach_left, o.reach_right, o.scale, o.cu_seqlens, o.cu_seqlens_k, o.dropout,
                 o.dropout_seed, o.dropout_origin, o.float32_out, o.backend);
}

Gradients call_backward(const at::Tensor& dout, const Inputs& x, const at::Tensor& out, const at::Tensor& lse,
                        const Options& o) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("longspan::local_attention_backward", "")
                             .typed<decltype(flat_backward<call_backward>)>();
  return op.call(dout, x.q, x.k, x.v, x.table, out, lse, o.reach_left, o.reach_right, o.scale, o.cu_seqlens,
                 o.cu_seqlens_k, o.dropout, o.dropout_seed, o.dropout_origin);
}

namespace {
at::Tensor composite(const Inputs& x, const Options& options) { return std::get<0>(call_forward(x, options)); }
}  // namespace
}  // namespace local

std::tuple<at::Tensor, at::Tensor> local_attention_forward(const at::Tensor& q, const at::Tensor& k,
                                                           const at::Tensor& v, const std::optional<at::Tensor>& table,
                                                           const LocalAttentionOptions& options) {
  return local::call_forward({q, k, v, table}, options);
}

at::Tensor local_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::optional<at::Tensor>& table, const LocalAttentionOptions& options) {
  return local::composite({q, k, v, table}, options);
}

}  // namespace longspan::ops

TORCH_LIBRARY_IMPL(longspan, CompositeImplicitAutograd, m) {
  m.impl("local_attention", TORCH_FN(longspan::ops::local::flat_forward<longspan::ops::local::composite>));
}
