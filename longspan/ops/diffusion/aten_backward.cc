#include "longspan/ops/diffusion/aten_backward.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>
#include <vector>

#include "longspan/ops/common/rows.h"

namespace longspan::ops::diffuse {
namespace {

using Tensors = std::vector<at::Tensor>;

/// Calls f(leaves) with copies of `inputs` that record, and returns the gradients of its results (output, gradient).
/// An operator's implementation runs below autograd, whose keys come back for this.
template <class F>
Tensors gradients_of(const Tensors& inputs, const F& f) {
  const at::AutoGradMode recording(true);
  const auto local = c10::impl::tls_local_dispatch_key_set();
  const c10::impl::ForceDispatchKeyGuard with_autograd(
      local.included_, local.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  Tensors leaves;
  for (const at::Tensor& t : inputs) leaves.push_back(t.detach().requires_grad_(true));
  Tensors outputs, gradients;
  for (auto& [output, gradient] : f(leaves))
    if (gradient && output.requires_grad()) {  // without hops there are no states
      outputs.push_back(output);
      gradients.push_back(gradient->detach());
    }
  Tensors result = torch::autograd::grad(outputs, leaves, gradients, /*retain_graph=*/std::nullopt,
                                         /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!result[i].defined()) result[i] = at::zeros_like(inputs[i]);
  return result;
}

using Results = std::vector<std::pair<at::Tensor, OptionalTensor>>;

}  // namespace

Gradients backward_in_aten(Backend chosen, const at::Tensor& dout, const Inputs& x, const Patterns& patterns,
                           const Options& options) {
  const Tensors g = gradients_of({x.q, x.k, x.v, x.coefficients}, [&](const Tensors& leaf) {
    const AtenOutputs y = run_in_aten(chosen, {leaf[0], leaf[1], leaf[2], leaf[3]}, patterns, options);
    return Results{{y.out, dout}};
  });
  return {with_layout(g[0], x.q), with_layout(g[1], x.k), with_layout(g[2], x.v), g[3].contiguous()};
}

ExtendGradients extend_backward_in_aten(Backend chosen, const ExtendedGradients& gradients, const Inputs& x,
                                        const Past& past, const Patterns& patterns, const Options& options) {
  const Tensors g = gradients_of({x.q, x.k, x.v, x.coefficients, past.states}, [&](const Tensors& leaf) {
    const AtenOutputs y =
        run_extend_in_aten(chosen, {leaf[0], leaf[1], leaf[2], leaf[3]}, {leaf[4], past.positions}, patterns, options);
    return Results{{y.out, gradients.out}, {y.states, gradients.states}};
  });
  return {with_layout(g[0], x.q), with_layout(g[1], x.k), with_layout(g[2], x.v), g[3].contiguous(), g[4].contiguous()};
}

}  // namespace longspan::ops::diffuse
