#include "longspan/ops/diffusion/dispatch.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/library.h>

#include "longspan/ops/diffusion/check.h"
#include "longspan/ops/diffusion/kept.h"
#include "longspan/ops/diffusion/patterns.h"

namespace longspan::ops {
namespace diffuse {

namespace {

/// The named operator as a function of the type of `Flat`.
template <class Flat>
auto find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Flat>();
}

/// What the backward pass that will follow, if one will, wants kept.
Keep wanted(const Inputs& x, const Patterns& patterns, const Options& o) {
  const bool recorded = at::GradMode::is_enabled() && (x.q.requires_grad() || x.k.requires_grad() ||
                                                       x.v.requires_grad() || x.coefficients.requires_grad());
  if (!recorded || choose_backend(kOp, o.backend, x.q) != Backend::kernel) return {};
  Keep keep{.weights = 0, .states = o.backward == "store_all"};
  if (o.edge_weights != "stored" || !have_values(patterns)) return keep;
  keep.weights = -1;
  // A mode may take the values from the call; counting reads the patterns once more.
  if (c10::impl::TorchDispatchModeTLS::any_modes_set()) {
    const auto shape = check<c10::SymInt>(x, patterns, o);
    keep.weights = count_weights(x, patterns, shape.sequences.guard_int(__FILE__, __LINE__));
  }
  return keep;
}

at::Tensor composite(const Inputs& x, const Patterns& patterns, const Options& options) {
  return call_forward(x, patterns, options, wanted(x, patterns, options)).out;
}

}  // namespace

Outputs call_forward(const Inputs& x, const Patterns& p, const Options& o, const Keep& keep) {
  static const auto op = find_operator<decltype(flat_forward<call_forward>)>("longspan::diffusion_forward");
  const auto [out, lse, weights, states] =
      op.call(x.q, x.k, x.v, x.coefficients, p.patterns, p.pattern_of, o.scale, o.cu_seqlens, o.valid, o.padding,
              o.attention_dropout, o.dropout_mode, o.hop_dropout, o.dropout_seed, o.dropout_origin, o.backward,
              o.edge_weights, o.backend, keep.weights, keep.states);
  return {out, lse, weights, states};
}

Gradients call_backward(const at::Tensor& dout, const Inputs& x, const Patterns& p, const Kept& kept,
                        const Options& o) {
  static const auto op = find_operator<decltype(flat_backward<call_backward>)>("longspan::diffusion_backward");
  return op.call(dout, x.q, x.k, x.v, x.coefficients, p.patterns, p.pattern_of, kept.weights, kept.states, o.scale,
                 o.cu_seqlens, o.valid, o.padding, o.attention_dropout, o.dropout_mode, o.hop_dropout, o.dropout_seed,
                 o.dropout_origin, o.backward, o.edge_weights, o.backend);
}

Extended call_extend(const Inputs& x, const Past& past, const Patterns& p, const Options& o) {
  static const auto op = find_operator<decltype(flat_extend<call_extend>)>("longspan::diffusion_extend");
  return op.call(x.q, x.k, x.v, x.coefficients, past.states, p.patterns, p.pattern_of, past.positions, o.scale,
                 o.attention_dropout, o.dropout_mode, o.hop_dropout, o.dropout_seed, o.dropout_origin, o.backward,
                 o.edge_weights, o.backend);
}

ExtendGradients call_extend_backward(const ExtendedGradients& g, const Inputs& x, const Past& past, const Patterns& p,
                                     const at::Tensor& new_states, const Options& o) {
  static const auto op =
      find_operator<decltype(flat_extend_backward<call_extend_backward>)>("longspan::diffusion_extend_backward");
  return op.call(g.out, g.states, x.q, x.k, x.v, x.coefficients, past.states, p.patterns, p.pattern_of, past.positions,
                 new_states, o.scale, o.attention_dropout, o.dropout_mode, o.hop_dropout, o.dropout_seed,
                 o.dropout_origin, o.backward, o.edge_weights, o.backend);
}

}  // namespace diffuse

at::Tensor diffusion(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& coefficients,
                     const DiffusionPatterns& patterns, const DiffusionOptions& options) {
  return diffuse::composite({q, k, v, coefficients}, patterns, options);
}

std::tuple<at::Tensor, at::Tensor> diffusion_extend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                    const at::Tensor& coefficients, const at::Tensor& states,
                                                    const DiffusionPatterns& patterns,
                                                    const std::optional<at::Tensor>& positions,
                                                    const DiffusionOptions& options) {
  TORCH_CHECK_VALUE(!options.cu_seqlens, diffuse::kExtendOp, ": cu_seqlens: expected none, got one");
  TORCH_CHECK_VALUE(!options.valid, diffuse::kExtendOp, ": valid: expected none, got one");
  const auto [out, new_states, lse] =
      diffuse::call_extend({q, k, v, coefficients}, {states, positions}, patterns, options);
  return {out, new_states};
}

}  // namespace longspan::ops

TORCH_LIBRARY_IMPL(longspan, CompositeImplicitAutograd, m) {
  m.impl("diffusion", TORCH_FN(longspan::ops::diffuse::flat_diffusion<longspan::ops::diffuse::composite>));
}
