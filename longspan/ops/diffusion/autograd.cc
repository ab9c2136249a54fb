#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "longspan/ops/common/second_derivative.h"
#include "longspan/ops/diffusion/aten_forms.h"
#include "longspan/ops/diffusion/check.h"
#include "longspan/ops/diffusion/dispatch.h"
#include "longspan/ops/diffusion/patterns.h"

namespace longspan::ops::diffuse {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a backward pass needs of the call: tensors as saved variables, everything else beside them. `own` are those of
// an operator, before those that all have.
void save(AutogradContext* ctx, variable_list own, const Patterns& patterns, const Options& o) {
  const auto or_none = [](const OptionalTensor& t) { return t.value_or(at::Tensor()); };
  ctx->set_materialize_grads(false);
  for (const OptionalTensor& t : {o.cu_seqlens, o.valid, o.dropout_seed, o.dropout_origin, patterns.pattern_of})
    own.push_back(or_none(t));
  own.insert(own.end(), patterns.patterns.begin(), patterns.patterns.end());
  ctx->save_for_backward(own);
  auto& data = ctx->saved_data;
  data["scale"] = o.scale;
  data["padding"] = std::string(o.padding);
  data["attention_dropout"] = o.attention_dropout;
  data["dropout_mode"] = std::string(o.dropout_mode);
  data["hop_dropout"] = o.hop_dropout;
  data["backward"] = std::string(o.backward);
  data["edge_weights"] = std::string(o.edge_weights);
  data["backend"] = std::string(o.backend);
}

struct Saved {
  variable_list own;
  Patterns patterns;
  std::string padding, dropout_mode, backward, edge_weights, backend;
  Options options;

  Saved(AutogradContext* ctx, std::size_t own_count) {
    own = ctx->get_saved_variables();
    std::size_t at = own_count;
    auto& data = ctx->saved_data;
    const auto text = [&](const char* name) { return data[name].toStringRef(); };
    padding = text("padding");
    dropout_mode = text("dropout_mode");
    backward = text("backward");
    edge_weights = text("edge_weights");
    backend = text("backend");
    options.scale = data["scale"].toOptional<double>();
    options.padding = padding;
    options.attention_dropout = data["attention_dropout"].toDouble();
    options.dropout_mode = dropout_mode;
    options.hop_dropout = data["hop_dropout"].toDouble();
    options.backward = backward;
    options.edge_weights = edge_weights;
    options.backend = backend;
    for (OptionalTensor* t :
         {&options.cu_seqlens, &options.valid, &options.dropout_seed, &options.dropout_origin, &patterns.pattern_of})
      *t = optional(own[at++]);
    patterns.patterns.assign(own.begin() + static_cast<std::ptrdiff_t>(at), own.end());
  }
};

class Diffuse : public torch::autograd::Function<Diffuse> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& coefficients, const Patterns& patterns, const Options& o,
                               const Keep& keep) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Outputs y = call_forward({q, k, v, coefficients}, patterns, o, keep);
    ctx->mark_non_differentiable({y.lse, y.weights, y.states});
    save(ctx, {q, k, v, coefficients, y.weights, y.states}, patterns, o);
    return {y.out, y.lse, y.weights, y.states};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(7);
    if (!grads[0].defined()) return result;
    const Saved s(ctx, 6);
    const auto kept = [&](std::size_t i) { return is_none(s.own[i]) ? OptionalTensor() : optional(s.own[i]); };
    std::tie(result[0], result[1], result[2], result[3]) =
        call_backward(grads[0], {s.own[0], s.own[1], s.own[2], s.own[3]}, s.patterns, {kept(4), kept(5)}, s.options);
    return result;
  }
};

// The backward operator as a node of its own, so that a second derivative is an error and not silently wrong.
class DiffuseBackward : public torch::autograd::Function<DiffuseBackward> {
 public:
  static variable_list forward(AutogradContext*, const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor& coefficients, const Patterns& patterns,
                               const Kept& kept, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dk, dv, dcoefficients] = call_backward(dout, {q, k, v, coefficients}, patterns, kept, options);
    return {dq, dk, dv, dcoefficients};
  }

  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kOp); }
};

class Extend : public torch::autograd::Function<Extend> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& coefficients, const at::Tensor& states,
                               const OptionalTensor& positions, const Patterns& patterns, const Options& o) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [out, new_states, lse] = call_extend({q, k, v, coefficients}, {states, positions}, patterns, o);
    ctx->mark_non_differentiable({lse});
    save(ctx, {q, k, v, coefficients, states, positions.value_or(at::Tensor()), new_states}, patterns, o);
    return {out, new_states, lse};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(8);
    if (!grads[0].defined() && !grads[1].defined()) return result;
    const Saved s(ctx, 7);
    std::tie(result[0], result[1], result[2], result[3], result[4]) =
        call_extend_backward({optional(grads[0]), optional(grads[1])}, {s.own[0], s.own[1], s.own[2], s.own[3]},
                             {s.own[4], optional(s.own[5])}, s.patterns, s.own[6], s.options);
    return result;
  }
};

class ExtendBackward : public torch::autograd::Function<ExtendBackward> {
 public:
  static variable_list forward(AutogradContext*, const OptionalTensor& dout, const OptionalTensor& dnew_states,
                               const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& coefficients, const at::Tensor& states, const Past& past,
                               const Patterns& patterns, const at::Tensor& new_states, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dk, dv, dcoefficients, dstates] = call_extend_backward(
        {dout, dnew_states}, {q, k, v, coefficients}, {states, past.positions}, patterns, new_states, options);
    return {dq, dk, dv, dcoefficients, dstates};
  }

  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kExtendOp); }
};

// Forms in ATen consist of differentiable operators; while a graph is traced they cannot read the patterns and go as
// one operator into it, as the kernel does.
bool run_here(Backend chosen, const Patterns& patterns) { return chosen != Backend::kernel && have_values(patterns); }

Outputs forward(const Inputs& x, const Patterns& patterns, const Options& o, const Keep& keep) {
  if (const Backend chosen = choose_backend(kOp, o.backend, x.q); run_here(chosen, patterns)) {
    report_backend(kOp, o.backend, chosen, x.q);
    const AtenOutputs y = run_in_aten(chosen, x, patterns, o);
    return {y.out, y.lse, none(x), none(x)};
  }
  const auto y = Diffuse::apply(x.q, x.k, x.v, x.coefficients, patterns, o, keep);
  return {y[0], y[1], y[2], y[3]};
}

Gradients backward(const at::Tensor& dout, const Inputs& x, const Patterns& patterns, const Kept& kept,
                   const Options& o) {
  const auto y = DiffuseBackward::apply(dout, x.q, x.k, x.v, x.coefficients, patterns, kept, o);
  return {y[0], y[1], y[2], y[3]};
}

Extended extend(const Inputs& x, const Past& past, const Patterns& patterns, const Options& o) {
  if (const Backend chosen = choose_backend(kExtendOp, o.backend, x.q); run_here(chosen, patterns)) {
    report_backend(kExtendOp, o.backend, chosen, x.q);
    const AtenOutputs y = run_extend_in_aten(chosen, x, past, patterns, o);
    return {y.out, y.states, y.lse};
  }
  const auto y = Extend::apply(x.q, x.k, x.v, x.coefficients, past.states, past.positions, patterns, o);
  return {y[0], y[1], y[2]};
}

ExtendGradients extend_backward(const ExtendedGradients& g, const Inputs& x, const Past& past, const Patterns& patterns,
                                const at::Tensor& new_states, const Options& o) {
  const auto y =
      ExtendBackward::apply(g.out, g.states, x.q, x.k, x.v, x.coefficients, past.states, past, patterns, new_states, o);
  return {y[0], y[1], y[2], y[3], y[4]};
}

}  // namespace
}  // namespace longspan::ops::diffuse

TORCH_LIBRARY_IMPL(longspan, Autograd, m) {
  using namespace longspan::ops::diffuse;
  m.impl("diffusion_forward", TORCH_FN(flat_forward<forward>));
  m.impl("diffusion_backward", TORCH_FN(flat_backward<backward>));
  m.impl("diffusion_extend", TORCH_FN(flat_extend<extend>));
  m.impl("diffusion_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}
