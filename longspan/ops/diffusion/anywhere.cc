// Devices without a kernel: the forms in ATen.
#include <torch/library.h>

#include "longspan/ops/diffusion/aten_backward.h"
#include "longspan/ops/diffusion/aten_forms.h"
#include "longspan/ops/diffusion/check.h"
#include "longspan/ops/diffusion/dispatch.h"

namespace longspan::ops::diffuse {

namespace {

Outputs forward_anywhere(const Inputs& x, const Patterns& patterns, const Options& o, const Keep&) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  report_backend(kOp, o.backend, chosen, x.q);
  const AtenOutputs y = run_in_aten(chosen, x, patterns, o);
  return {y.out, y.lse, none(x), none(x)};
}

Gradients backward_anywhere(const at::Tensor& dout, const Inputs& x, const Patterns& patterns, const Kept& kept,
                            const Options& o) {
  check_backward(check<int64_t>(x, patterns, o), dout, x);
  return backward_in_aten(choose_backend(kOp, o.backend, x.q), dout, x, patterns, o);
}

Extended extend_anywhere(const Inputs& x, const Past& past, const Patterns& patterns, const Options& o) {
  const Backend chosen = choose_backend(kExtendOp, o.backend, x.q);
  report_backend(kExtendOp, o.backend, chosen, x.q);
  const AtenOutputs y = run_extend_in_aten(chosen, x, past, patterns, o);
  return {y.out, y.states, y.lse};
}

ExtendGradients extend_backward_anywhere(const ExtendedGradients& gradients, const Inputs& x, const Past& past,
                                         const Patterns& patterns, const at::Tensor& new_states, const Options& o) {
  check_extend_backward(check_extend<int64_t>(x, past, patterns, o), gradients, x, new_states);
  return extend_backward_in_aten(choose_backend(kExtendOp, o.backend, x.q), gradients, x, past, patterns, o);
}

}  // namespace
}  // namespace longspan::ops::diffuse

TORCH_LIBRARY_IMPL(longspan, CompositeExplicitAutograd, m) {
  using namespace longspan::ops::diffuse;
  m.impl("diffusion_forward", TORCH_FN(flat_forward<forward_anywhere>));
  m.impl("diffusion_backward", TORCH_FN(flat_backward<backward_anywhere>));
  m.impl("diffusion_extend", TORCH_FN(flat_extend<extend_anywhere>));
  m.impl("diffusion_extend_backward", TORCH_FN(flat_extend_backward<extend_backward_anywhere>));
}
