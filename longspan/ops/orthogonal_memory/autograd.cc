#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "longspan/ops/common/second_derivative.h"
#include "longspan/ops/orthogonal_memory/aten_forms.h"
#include "longspan/ops/orthogonal_memory/check.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a backward pass needs of the call: tensors as saved variables, everything else beside them.
void save(AutogradContext* ctx, const Inputs& x, const State& s, std::string_view form, const Options& o) {
  const auto or_none = [](const OptionalTensor& t) { return t.value_or(at::Tensor()); };
  ctx->set_materialize_grads(false);
  ctx->save_for_backward({x.q, x.m, x.basis, s.closed, s.open, s.count, or_none(s.visible), or_none(o.cu_seqlens),
                          or_none(o.cu_seqlens_source), or_none(o.dropout_seed)});
  ctx->saved_data["form"] = std::string(form);
  ctx->saved_data["scale"] = o.scale;
  ctx->saved_data["window"] = o.window;
  ctx->saved_data["accumulator"] = std::string(o.accumulator);
  ctx->saved_data["dropout"] = o.dropout;
}

struct Saved {
  Inputs x;
  State state;
  std::string form, accumulator;
  Options options;

  explicit Saved(AutogradContext* ctx)
      : form(ctx->saved_data["form"].toStringRef()), accumulator(ctx->saved_data["accumulator"].toStringRef()) {
    const variable_list t = ctx->get_saved_variables();
    x = {t[0], t[1], t[2]};
    state = {t[3], t[4], t[5], optional(t[6])};
    options = {ctx->saved_data["scale"].toDouble(),
               optional(t[7]),
               optional(t[8]),
               ctx->saved_data["window"].toInt(),
               accumulator,
               ctx->saved_data["dropout"].toDouble(),
               optional(t[9])};
  }
};

class Read : public torch::autograd::Function<Read> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                            std::string_view form, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    save(ctx, {q, m, basis}, {}, form, options);
    return call_forward({q, m, basis}, form, options);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(5);
    if (!grads[0].defined()) return result;
    const Saved saved(ctx);
    std::tie(result[0], result[1], result[2]) = call_backward(grads[0], saved.x, saved.form, saved.options);
    return result;
  }
};

// The backward operators as nodes of their own, so that a second derivative is an error and not silently wrong.
class ReadBackward : public torch::autograd::Function<ReadBackward> {
 public:
  static variable_list forward(AutogradContext*, const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m,
                               const at::Tensor& basis, std::string_view form, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dm, dbasis] = call_backward(dout, {q, m, basis}, form, options);
    return {dq, dm, dbasis};
  }
  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kOp); }
};

class Extend : public torch::autograd::Function<Extend> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                               const at::Tensor& closed, const at::Tensor& open, const OptionalTensor& visible,
                               const at::Tensor& count, const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    const State state{closed, open, count, visible};
    auto [out, closed_out, open_out, count_out, visible_out] = call_extend({q, m, basis}, state, options);
    save(ctx, {q, m, basis}, state, "causal", options);
    variable_list constant = {count_out};
    if (!visible) constant.push_back(visible_out);
    ctx->mark_non_differentiable(constant);
    return {out, closed_out, open_out, count_out, visible_out};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(8);
    const Saved saved(ctx);
    const ExtendedGradients g{optional(grads[0]), optional(grads[1]), optional(grads[2]),
                              saved.state.visible ? optional(grads[4]) : std::nullopt};
    if (!g.out && !g.closed && !g.open && !g.visible) return result;
    at::Tensor visible;
    std::tie(result[0], result[1], result[2], result[3], result[4], visible) =
        call_extend_backward(g, saved.x, saved.state, saved.options);
    if (saved.state.visible) result[5] = visible;
    return result;
  }
};

class ExtendBackward : public torch::autograd::Function<ExtendBackward> {
 public:
  static variable_list forward(AutogradContext*, const OptionalTensor& dout, const OptionalTensor& dclosed_out,
                               const OptionalTensor& dopen_out, const OptionalTensor& dvisible_out, const at::Tensor& q,
                               const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                               const at::Tensor& open, const OptionalTensor& visible, const at::Tensor& count,
                               const Options& options) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [dq, dm, dbasis, dclosed, dopen, dvisible] = call_extend_backward(
        {dout, dclosed_out, dopen_out, dvisible_out}, {q, m, basis}, {closed, open, count, visible}, options);
    return {dq, dm, dbasis, dclosed, dopen, dvisible};
  }
  static variable_list backward(AutogradContext*, const variable_list&) { refuse_second_derivative(kExtend); }
};

at::Tensor forward(const Inputs& x, std::string_view form, const Options& options) {
  // The other forms consist of differentiable operators.
  if (const Backend chosen = choose_backend(kOp, options.backend, x.q); chosen != Backend::kernel) {
    report_backend(kOp, options.backend, chosen, x.q);
    return run_in_aten(chosen, x, form, options);
  }
  return Read::apply(x.q, x.m, x.basis, form, options);
}

Gradients backward(const at::Tensor& dout, const Inputs& x, std::string_view form, const Options& options) {
  const auto r = ReadBackward::apply(dout, x.q, x.m, x.basis, form, options);
  return {r[0], r[1], r[2]};
}

Extended extend(const Inputs& x, const State& s, const Options& options) {
  if (const Backend chosen = choose_backend(kExtend, options.backend, x.q); chosen != Backend::kernel) {
    report_backend(kExtend, options.backend, chosen, x.q);
    return run_in_aten(chosen, x, s, options);
  }
  const auto r = Extend::apply(x.q, x.m, x.basis, s.closed, s.open, s.visible, s.count, options);
  return {r[0], r[1], r[2], r[3], r[4]};
}

ExtendGradients extend_backward(const ExtendedGradients& g, const Inputs& x, const State& s, const Options& options) {
  const auto r = ExtendBackward::apply(g.out, g.closed, g.open, g.visible, x.q, x.m, x.basis, s.closed, s.open,
                                       s.visible, s.count, options);
  return {r[0], r[1], r[2], r[3], r[4], r[5]};
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, Autograd, m) {
  using namespace longspan::ops::memory;
  m.impl("orthogonal_memory", TORCH_FN(flat_forward<forward>));
  m.impl("orthogonal_memory_backward", TORCH_FN(flat_backward<backward>));
  m.impl("orthogonal_memory_extend", TORCH_FN(flat_extend<extend>));
  m.impl("orthogonal_memory_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}
