#include "longspan/ops/delta_memory/dispatch.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include <initializer_list>

namespace longspan::ops {
namespace delta {
namespace {

/// The named operator as a function of the type of `Flat`.
template <class Flat>
auto find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Flat>();
}

/// Whether a backward pass may follow, for which segments are worth keeping.
bool recorded(const Inputs& x, std::initializer_list<OptionalTensor> state) {
  if (!at::GradMode::is_enabled()) return false;
  const auto wanted = [](const OptionalTensor& t) { return t && t->requires_grad(); };
  for (const OptionalTensor& t : state)
    if (wanted(t)) return true;
  return x.q.requires_grad() || x.k.requires_grad() || x.v.requires_grad() || x.beta.requires_grad() ||
         wanted(x.log_alpha);
}

std::tuple<at::Tensor, at::Tensor> composite(const Inputs& x, const OptionalTensor& state, const Options& options) {
  const Outputs y = call_forward(x, state, options, recorded(x, {state}));
  return {y.out, y.state};
}

std::tuple<at::Tensor, State> composite_extend(const Inputs& x, const State& s, const Options& options) {
  const Extended y = call_extend(x, s, options, recorded(x, {s.memory, s.keys, s.writes, s.log_alpha}));
  return {y.out, y.state};
}

// The schemas of the operators without what is kept.
std::tuple<at::Tensor, at::Tensor> flat_composite(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                  const at::Tensor& beta, const OptionalTensor& log_alpha,
                                                  const OptionalTensor& state, const OptionalTensor& cu_seqlens,
                                                  bool delta, std::string_view backend) {
  return composite({q, k, v, beta, log_alpha}, state, Options{delta, cu_seqlens, backend});
}

using FlatStream = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
FlatStream flat_composite_extend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                                 const OptionalTensor& log_alpha, const at::Tensor& memory, const at::Tensor& keys,
                                 const at::Tensor& writes, const OptionalTensor& log_alpha_rows,
                                 const at::Tensor& position, const OptionalTensor& cu_seqlens, bool delta,
                                 std::string_view backend) {
  const auto [out, s] = composite_extend({q, k, v, beta, log_alpha}, {memory, keys, writes, log_alpha_rows, position},
                                         Options{delta, cu_seqlens, backend});
  return {out, s.memory, s.keys, s.writes, or_absent(s.log_alpha, q), s.position};
}

}  // namespace

Outputs call_forward(const Inputs& x, const OptionalTensor& state, const Options& o, bool keep) {
  static const auto op = find_operator<decltype(flat_forward<call_forward>)>("longspan::delta_memory_forward");
  const auto [out, state_out, segments] =
      op.call(x.q, x.k, x.v, x.beta, x.log_alpha, state, o.cu_seqlens, o.delta, o.backend, keep);
  return {out, state_out, segments};
}

Gradients call_backward(const OutputGradients& g, const Inputs& x, const OptionalTensor& state,
                        const OptionalTensor& segments, const Options& o) {
  static const auto op = find_operator<decltype(flat_backward<call_backward>)>("longspan::delta_memory_backward");
  const auto [dq, dk, dv, dbeta, dlog_alpha, dstate] =
      op.call(g.out, g.state, x.q, x.k, x.v, x.beta, x.log_alpha, state, o.cu_seqlens, segments, o.delta);
  return {{dq, dk, dv, dbeta, x.log_alpha ? optional(dlog_alpha) : std::nullopt},
          state ? optional(dstate) : std::nullopt};
}

Extended call_extend(const Inputs& x, const State& s, const Options& o, bool keep) {
  static const auto op = find_operator<decltype(flat_extend<call_extend>)>("longspan::delta_memory_extend_forward");
  const auto [out, memory, keys, writes, log_alpha, position, segments] =
      op.call(x.q, x.k, x.v, x.beta, x.log_alpha, s.memory, s.keys, s.writes, s.log_alpha, s.position, o.cu_seqlens,
              o.delta, o.backend, keep);
  return {out, {memory, keys, writes, s.log_alpha ? optional(log_alpha) : std::nullopt, position}, segments};
}

ExtendGradients call_extend_backward(const ExtendedGradients& g, const Inputs& x, const State& s,
                                     const OptionalTensor& segments, const Options& o) {
  static const auto op =
      find_operator<decltype(flat_extend_backward<call_extend_backward>)>("longspan::delta_memory_extend_backward");
  const auto [dq, dk, dv, dbeta, dlog_alpha, dmemory, dkeys, dwrites, drows] =
      op.call(g.out, g.memory, g.keys, g.writes, g.log_alpha, x.q, x.k, x.v, x.beta, x.log_alpha, s.memory, s.keys,
              s.writes, s.log_alpha, s.position, o.cu_seqlens, segments, o.delta);
  return {{dq, dk, dv, dbeta, x.log_alpha ? optional(dlog_alpha) : std::nullopt},
          {dmemory, dkeys, dwrites, s.log_alpha ? optional(drows) : std::nullopt, at::Tensor()}};
}

}  // namespace delta

std::tuple<at::Tensor, at::Tensor> delta_memory(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const at::Tensor& beta, const std::optional<at::Tensor>& log_alpha,
                                                const std::optional<at::Tensor>& state,
                                                const DeltaMemoryOptions& options) {
  return delta::composite({q, k, v, beta, log_alpha}, state, options);
}

std::tuple<at::Tensor, DeltaMemoryState> delta_memory_extend(const at::Tensor& q, const at::Tensor& k,
                                                             const at::Tensor& v, const at::Tensor& beta,
                                                             const std::optional<at::Tensor>& log_alpha,
                                                             const DeltaMemoryState& state,
                                                             const DeltaMemoryOptions& options) {
  return delta::composite_extend({q, k, v, beta, log_alpha}, state, options);
}

}  // namespace longspan::ops

TORCH_LIBRARY_IMPL(longspan, CompositeImplicitAutograd, m) {
  m.impl("delta_memory", TORCH_FN(longspan::ops::delta::flat_composite));
  m.impl("delta_memory_extend", TORCH_FN(longspan::ops::delta::flat_composite_extend));
}
