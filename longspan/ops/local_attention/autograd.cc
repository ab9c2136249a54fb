#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "longspan/ops/local_attention/check.h"
#include "longspan/ops/local_attention/dispatch.h"
#include "longspan/ops/local_attention/reference.h"

namespace longspan::ops::local {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Attend : public torch::autograd::Function<Attend> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const OptionalTensor& table, const OptionalTensor& cu_seqlens,
                               const OptionalTensor& cu_seqlens_k, int64_t reach_left, int64_t reach_right,
                               std::optional<double> scale, std::string_view backend) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [out, lse] = call_forward(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k, backend);
    ctx->set_materialize_grads(false);
    ctx->mark_non_differentiable({lse});
    ctx->save_for_backward({q, k, v, table.value_or(at::Tensor()), cu_seqlens.value_or(at::Tensor()),
                            cu_seqlens_k.value_or(at::Tensor()), out, lse});
    ctx->saved_data["reach_left"] = reach_left;
    ctx->saved_data["reach_right"] = reach_right;
    ctx->saved_data["scale"] = scale;
    return {out, lse};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(10);
    if (!grads[0].defined()) return result;
    const variable_list saved = ctx->get_saved_variables();
    const OptionalTensor table = optional(saved[3]);
    auto [dq, dk, dv, dtable] =
        call_backward(grads[0], saved[0], saved[1], saved[2], table, saved[6], saved[7],
                      ctx->saved_data["reach_left"].toInt(), ctx->saved_data["reach_right"].toInt(),
                      ctx->saved_data["scale"].toOptional<double>(), optional(saved[4]), optional(saved[5]));
    result[0] = dq;
    result[1] = dk;
    result[2] = dv;
    if (table) result[3] = dtable;
    return result;
  }
};

// The backward operator as a node of its own, so that a second derivative is an error and not silently wrong.
class AttendBackward : public torch::autograd::Function<AttendBackward> {
 public:
  static variable_list forward(AutogradContext*, const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const OptionalTensor& table, const at::Tensor& out,
                               const at::Tensor& lse, const OptionalTensor& cu_seqlens,
                               const OptionalTensor& cu_seqlens_k, int64_t reach_left, int64_t reach_right,
                               std::optional<double> scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dk, dv, dtable] =
        call_backward(dout, q, k, v, table, out, lse, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k);
    return {dq, dk, dv, dtable};
  }

  static variable_list backward(AutogradContext*, const variable_list&) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, kOp,
                                ": expected one derivative, got a second one; the backend reference has it");
  }
};

std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                           std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                           const OptionalTensor& cu_seqlens_k, std::string_view backend) {
  // The composed form consists of differentiable operators.
  if (const Backend chosen = choose_backend(kOp, backend, q); chosen != Backend::kernel) {
    report_backend(kOp, backend, chosen, q);
    return composed(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k);
  }
  const auto results = Attend::apply(q, k, v, table, cu_seqlens, cu_seqlens_k, reach_left, reach_right, scale, backend);
  return {results[0], results[1]};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const OptionalTensor& table,
    const at::Tensor& out, const at::Tensor& lse, int64_t reach_left, int64_t reach_right, std::optional<double> scale,
    const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_k) {
  const auto results =
      AttendBackward::apply(dout, q, k, v, table, out, lse, cu_seqlens, cu_seqlens_k, reach_left, reach_right, scale);
  return {results[0], results[1], results[2], results[3]};
}

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, Autograd, m) {
  m.impl("local_attention_forward", TORCH_FN(longspan::ops::local::forward));
  m.impl("local_attention_backward", TORCH_FN(longspan::ops::local::backward));
}
