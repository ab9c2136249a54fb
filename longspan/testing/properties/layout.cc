// Layout: strides of inputs and incoming gradients do not matter.
#include "longspan/testing/properties/probe.h"

namespace longspan::testing {
namespace {

/// The same values with other strides.
at::Tensor transposed(const at::Tensor& t) { return t.transpose(0, 2).contiguous().transpose(0, 2); }
at::Tensor every_other(const at::Tensor& t) {
  auto wide = at::full({t.size(0), 2 * t.size(1), t.size(2) + 3}, 1e30, t.options());
  auto view = wide.slice(1, 0, wide.size(1), 2).narrow(2, 1, t.size(2));
  view.copy_(t);
  return view;
}

}  // namespace

void check_layout(Probe& probe, Verdict& verdict) {
  auto& module = probe.module();
  const auto x = probe.tokens();
  const auto weight = probe.random(x.sizes());
  nn::AttentionInputs inputs;
  if (probe.cross()) inputs.source = probe.source();
  const auto expected = run(probe, x, inputs, weight);

  auto strided = inputs;
  if (probe.cross()) strided.source = transposed(*inputs.source);
  verdict.close("transposed", run(probe, transposed(x), strided, transposed(weight)), expected, module);
  if (probe.cross()) strided.source = every_other(*inputs.source);
  verdict.close("every other row", run(probe, every_other(x), strided, every_other(weight)), expected, module);
  // The gradient of a sum arrives as one number with strides of 0.
  const auto one = at::ones({1, 1, 1}, x.options());
  verdict.close("expanded gradient", run(probe, x, inputs, one.expand_as(x)), run(probe, x, inputs, at::ones_like(x)),
                module);

  if (probe.cross()) return;
  const int64_t b = x.size(0), n = x.size(1), h = module.sizes().heads, d = module.sizes().head_width();
  const auto grown = [&](int64_t shift) {  // [B, N, H, 3D] as one projection of q, k and v would give
    auto t = probe.random({b, n, h, 3 * d});
    return t.narrow(3, shift * d, d).transpose(1, 2);
  };
  const auto q = grown(0), k = grown(1), v = grown(2);
  at::NoGradGuard no_grad;
  verdict.close("the operator on views", module.attend(q, k, v),
                module.attend(q.contiguous(), k.contiguous(), v.contiguous()), module);
}

}  // namespace longspan::testing
