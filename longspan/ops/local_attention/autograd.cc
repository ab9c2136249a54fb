#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "longspan/ops/common/second_derivative.h"
#include "longspan/ops/local_attention/aten_forms.h"
#include "longspan/ops/local_attention/check.h"
#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Attend : public torch::autograd::Function<Attend> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const OptionalTensor& table, const Options& o) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [out, lse] = call_forward({q, k, v, table}, o);
    ctx->set_materialize_grads(false);
    ctx->mark_non_differentiable({lse});
    const at::Tensor none;
    ctx->save_for_backward({q, k, v, table.value_or(none), out, lse, o.cu_seqlens.value_or(none),
                            o.cu_seqlens_k.value_or(none), o.dropout_seed.value_or(none),
                            o.dropout_origin.value_or(none)});
    ctx->saved_data["reach_left"] = o.reach_left;
    ctx->saved_data["reach_right"] = o.reach_right;
    ctx->saved_data["scale"] = o.scale;
    ctx->saved_data["dropout"] = o.dropout;
    return {out, lse};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(5);
    if (!grads[0].defined()) return result;
    const variable_list saved = ctx->get_saved_variables();
    const Inputs x{saved[0], saved[1], saved[2], optional(saved[3])};
    const Options options{.reach_left = ctx->saved_data["reach_left"].toInt(),
                          .reach_right = ctx->saved_data["reach_right"].toInt(),
                          .scale = ctx->saved_data["scale"].toOptional<double>(),
                          .cu_seqlens = optional(saved[6]),
                          .cu_seqlens_k = optional(saved[7]),
                          .dropout = ctx->saved_data["dropout"].toDouble(),
                          .dropout_seed = optional(saved[8]),
                          .dropout_origin = optional(saved[9])};
    auto [dq, dk, dv, dtable] = call_backward(grads[0], x, saved[4], saved[5], options);
    result[0] = dq;
    result[1] = dk;
    result[2] = dv;
    if (x.table) result[3] = dtable;
    return result;
  }
};

// The backward operator as a node of its own, so that a second derivative is an error and not silently wrong.
class AttendBackward : public torch::autograd::Function<AttendBackward> {
 public:
  static variable_list forward(AutogradContext*, const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const OptionalTensor& table, const at::Tensor& out,
                               const at::Tensor& lse, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dk, dv, dtable] = call_backward(dout, {q, k, v, table}, out, lse, options);
    return {dq, dk, dv, dtable};
  }

  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kOp); }
};

Outputs forward(const Inputs& x, const Options& o) {
  // The other forms consist of differentiable operators.
  if (const Backend chosen = choose_backend(kOp, o.backend, x.q); chosen != Backend::kernel) {
    report_backend(kOp, o.backend, chosen, x.q);
    return run_in_aten(chosen, x, o);
  }
  const auto results = Attend::apply(x.q, x.k, x.v, x.table, o);
  return {results[0], results[1]};
}

Gradients backward(const at::Tensor& dout, const Inputs& x, const at::Tensor& out, const at::Tensor& lse,
                   const Options& o) {
  const auto results = AttendBackward::apply(dout, x.q, x.k, x.v, x.table, out, lse, o);
  return {results[0], results[1], results[2], results[3]};
}

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, Autograd, m) {
  using namespace longspan::ops::local;
  m.impl("local_attention_forward", TORCH_FN(flat_forward<forward>));
  m.impl("local_attention_backward", TORCH_FN(flat_backward<backward>));
}
