// The arguments of the operators in two bundles, and calls of the operators through the dispatcher.
#pragma once

#include "longspan/ops/common/optional.h"
#include "longspan/ops/local_attention/local_attention.h"

namespace longspan::ops::local {

/// What is attended over.
struct Inputs {
  at::Tensor q, k, v;
  OptionalTensor table;
};
using Options = LocalAttentionOptions;
/// out and lse.
using Outputs = std::tuple<at::Tensor, at::Tensor>;
/// dq, dk, dv in the layouts of q, k, v, and dtable, which is empty without a table.
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Outputs call_forward(const Inputs& x, const Options& options);
/// `options` without float32_out and backend: the first shows in `out`, and gradients are a matter of the kernel.
Gradients call_backward(const at::Tensor& dout, const Inputs& x, const at::Tensor& out, const at::Tensor& lse,
                        const Options& options);

/// The argument list of the schema around function(Inputs, Options).
template <auto function>
auto flat_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const OptionalTensor& table,
                  int64_t reach_left, int64_t reach_right, std::optional<double> scale,
                  const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_k, double dropout,
                  const OptionalTensor& dropout_seed, const OptionalTensor& dropout_origin, bool float32_out,
                  std::string_view backend) {
  return function(Inputs{q, k, v, table}, Options{reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k, dropout,
                                                  dropout_seed, dropout_origin, float32_out, backend});
}

/// The same around function(dout, Inputs, out, lse, Options).
template <auto function>
auto flat_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                   const OptionalTensor& table, const at::Tensor& out, const at::Tensor& lse, int64_t reach_left,
                   int64_t reach_right, std::optional<double> scale, const OptionalTensor& cu_seqlens,
                   const OptionalTensor& cu_seqlens_k, double dropout, const OptionalTensor& dropout_seed,
                   const OptionalTensor& dropout_origin) {
  return function(
      dout, Inputs{q, k, v, table}, out, lse,
      Options{reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k, dropout, dropout_seed, dropout_origin});
}

}  // namespace longspan::ops::local
