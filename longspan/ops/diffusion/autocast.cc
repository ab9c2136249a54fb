// The rule is that of common/autocast.h. Coefficients and states are parameters: float32.
#include "longspan/ops/common/autocast.h"

#include <torch/library.h>

#include "longspan/ops/diffusion/dispatch.h"

namespace longspan::ops::diffuse {
namespace {

Inputs cast_operands(const Autocast& cast, const Inputs& x) {
  return {cast.activation(x.q), cast.activation(x.k), cast.activation(x.v), cast.parameter(x.coefficients)};
}

template <c10::DeviceType device, c10::DispatchKey key>
Outputs forward(const Inputs& x, const Patterns& patterns, const Options& options, const Keep& keep) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  return call_forward(cast_operands(Autocast(device, {x.q, x.k, x.v}), x), patterns, options, keep);
}

template <c10::DeviceType device, c10::DispatchKey key>
Extended extend(const Inputs& x, const Past& past, const Patterns& patterns, const Options& options) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  const Autocast cast(device, {x.q, x.k, x.v});
  return call_extend(cast_operands(cast, x), {cast.parameter(past.states), past.positions}, patterns, options);
}

template <c10::DeviceType device, c10::DispatchKey key>
void implement(torch::Library& m) {
  m.impl("diffusion_forward", TORCH_FN((flat_forward<forward<device, key>>)));
  m.impl("diffusion_extend", TORCH_FN((flat_extend<extend<device, key>>)));
}

}  // namespace
}  // namespace longspan::ops::diffuse

TORCH_LIBRARY_IMPL(longspan, AutocastCPU, m) {
  longspan::ops::diffuse::implement<c10::DeviceType::CPU, c10::DispatchKey::AutocastCPU>(m);
}

TORCH_LIBRARY_IMPL(longspan, AutocastCUDA, m) {
  longspan::ops::diffuse::implement<c10::DeviceType::CUDA, c10::DispatchKey::AutocastCUDA>(m);
}
