#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

#include "longspan/ops/common/second_derivative.h"
#include "longspan/ops/delta_memory/aten_forms.h"
#include "longspan/ops/delta_memory/check.h"

namespace longspan::ops::delta {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor or_none(const OptionalTensor& t) { return t.value_or(at::Tensor()); }

// What a backward pass needs of the call: inputs, borders, segments, then the tensors of the state.
void save(AutogradContext* ctx, const Inputs& x, const Options& o, const at::Tensor& segments, variable_list state) {
  ctx->set_materialize_grads(false);
  variable_list all = {x.q, x.k, x.v, x.beta, or_none(x.log_alpha), or_none(o.cu_seqlens), segments};
  all.insert(all.end(), state.begin(), state.end());
  ctx->save_for_backward(all);
  ctx->saved_data["delta"] = o.delta;
}

struct Saved {
  Inputs x;
  Options options;
  OptionalTensor segments;
  variable_list state;

  explicit Saved(AutogradContext* ctx) {
    const variable_list t = ctx->get_saved_variables();
    x = {t[0], t[1], t[2], t[3], optional(t[4])};
    options.delta = ctx->saved_data["delta"].toBool();
    options.cu_seqlens = optional(t[5]);
    segments = unless_absent(t[6]);
    state.assign(t.begin() + 7, t.end());
  }
};

/// Gradients as the backward pass returns them: undefined for what there is none of.
variable_list listed(const Inputs& g) { return {g.q, g.k, g.v, g.beta, or_none(g.log_alpha)}; }
/// The same as results of a function, which are tensors.
variable_list results(const Inputs& g) { return {g.q, g.k, g.v, g.beta, or_absent(g.log_alpha, g.q)}; }

class Remember : public torch::autograd::Function<Remember> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& beta, const OptionalTensor& log_alpha, const OptionalTensor& state,
                               const Options& options, bool keep) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Inputs x{q, k, v, beta, log_alpha};
    const Outputs y = call_forward(x, state, options, keep);
    ctx->mark_non_differentiable({y.segments});
    save(ctx, x, options, y.segments, {or_none(state)});
    return {y.out, y.state, y.segments};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(8);
    if (!grads[0].defined() && !grads[1].defined()) return result;
    const Saved saved(ctx);
    const Gradients g = call_backward({optional(grads[0]), optional(grads[1])}, saved.x, optional(saved.state[0]),
                                      saved.segments, saved.options);
    const variable_list inputs = listed(g.inputs);
    std::copy(inputs.begin(), inputs.end(), result.begin());
    result[5] = or_none(g.state);
    return result;
  }
};

// The backward operators as nodes of their own, so that a second derivative is an error and not silently wrong.
class RememberBackward : public torch::autograd::Function<RememberBackward> {
 public:
  static variable_list forward(AutogradContext*, const OptionalTensor& dout, const OptionalTensor& dstate_out,
                               const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                               const OptionalTensor& log_alpha, const OptionalTensor& state,
                               const OptionalTensor& segments, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Gradients g = call_backward({dout, dstate_out}, {q, k, v, beta, log_alpha}, state, segments, options);
    variable_list result = results(g.inputs);
    result.push_back(or_absent(g.state, q));
    return result;
  }
  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kOp); }
};

class Extend : public torch::autograd::Function<Extend> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& beta, const OptionalTensor& log_alpha, const at::Tensor& memory,
                               const at::Tensor& keys, const at::Tensor& writes, const OptionalTensor& log_alpha_rows,
                               const at::Tensor& position, const Options& options, bool keep) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Inputs x{q, k, v, beta, log_alpha};
    const Extended y = call_extend(x, {memory, keys, writes, log_alpha_rows, position}, options, keep);
    const at::Tensor rows_out = or_absent(y.state.log_alpha, q);
    variable_list constant = {y.state.position, y.segments};
    if (!log_alpha_rows) constant.push_back(rows_out);
    ctx->mark_non_differentiable(constant);
    save(ctx, x, options, y.segments, {memory, keys, writes, or_none(log_alpha_rows), position});
    return {y.out, y.state.memory, y.state.keys, y.state.writes, rows_out, y.segments, y.state.position};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(12);
    const Saved saved(ctx);
    const variable_list& s = saved.state;
    const ExtendedGradients given{optional(grads[0]), optional(grads[1]), optional(grads[2]), optional(grads[3]),
                                  s[3].defined() ? optional(grads[4]) : std::nullopt};
    if (!given.out && !given.any_of_state()) return result;
    const ExtendGradients g =
        call_extend_backward(given, saved.x, {s[0], s[1], s[2], optional(s[3]), s[4]}, saved.segments, saved.options);
    const variable_list inputs = listed(g.inputs);
    std::copy(inputs.begin(), inputs.end(), result.begin());
    result[5] = g.state.memory;
    result[6] = g.state.keys;
    result[7] = g.state.writes;
    result[8] = or_none(g.state.log_alpha);
    return result;
  }
};

class ExtendBackward : public torch::autograd::Function<ExtendBackward> {
 public:
  static variable_list forward(AutogradContext*, const OptionalTensor& dout, const OptionalTensor& dmemory_out,
                               const OptionalTensor& dkeys_out, const OptionalTensor& dwrites_out,
                               const OptionalTensor& dlog_alpha_rows_out, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor& beta, const OptionalTensor& log_alpha,
                               const at::Tensor& memory, const at::Tensor& keys, const at::Tensor& writes,
                               const OptionalTensor& log_alpha_rows, const at::Tensor& position,
                               const OptionalTensor& segments, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    const ExtendGradients g = call_extend_backward({dout, dmemory_out, dkeys_out, dwrites_out, dlog_alpha_rows_out},
                                                   {q, k, v, beta, log_alpha},
                                                   {memory, keys, writes, log_alpha_rows, position}, segments, options);
    variable_list result = results(g.inputs);
    result.insert(result.end(), {g.state.memory, g.state.keys, g.state.writes, or_absent(g.state.log_alpha, q)});
    return result;
  }
  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kExtend); }
};

Outputs forward(const Inputs& x, const OptionalTensor& state, const Options& options, bool keep) {
  // The other forms consist of differentiable operators.
  if (choose(kOp, x, options) != Backend::kernel)
    return run_in_aten(choose_and_report(kOp, x, options), x, state, options);
  const auto r = Remember::apply(x.q, x.k, x.v, x.beta, x.log_alpha, state, options, keep);
  return {r[0], r[1], r[2]};
}

Gradients backward(const OutputGradients& g, const Inputs& x, const OptionalTensor& state,
                   const OptionalTensor& segments, const Options& options) {
  const auto r = RememberBackward::apply(g.out, g.state, x.q, x.k, x.v, x.beta, x.log_alpha, state, segments, options);
  return {{r[0], r[1], r[2], r[3], unless_absent(r[4])}, unless_absent(r[5])};
}

Extended extend(const Inputs& x, const State& s, const Options& options, bool keep) {
  if (choose(kExtend, x, options) != Backend::kernel)
    return run_in_aten(choose_and_report(kExtend, x, options), x, s, options);
  const auto r = Extend::apply(x.q, x.k, x.v, x.beta, x.log_alpha, s.memory, s.keys, s.writes, s.log_alpha, s.position,
                               options, keep);
  return {r[0], {r[1], r[2], r[3], unless_absent(r[4]), r[6]}, r[5]};
}

ExtendGradients extend_backward(const ExtendedGradients& g, const Inputs& x, const State& s,
                                const OptionalTensor& segments, const Options& options) {
  const auto r =
      ExtendBackward::apply(g.out, g.memory, g.keys, g.writes, g.log_alpha, x.q, x.k, x.v, x.beta, x.log_alpha,
                            s.memory, s.keys, s.writes, s.log_alpha, s.position, segments, options);
  return {{r[0], r[1], r[2], r[3], unless_absent(r[4])}, {r[5], r[6], r[7], unless_absent(r[8]), at::Tensor()}};
}

}  // namespace
}  // namespace longspan::ops::delta

TORCH_LIBRARY_IMPL(longspan, Autograd, m) {
  using namespace longspan::ops::delta;
  m.impl("delta_memory_forward", TORCH_FN(flat_forward<forward>));
  m.impl("delta_memory_backward", TORCH_FN(flat_backward<backward>));
  m.impl("delta_memory_extend_forward", TORCH_FN(flat_extend<extend>));
  m.impl("delta_memory_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}
