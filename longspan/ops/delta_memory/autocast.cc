// The rule is that of common/autocast.h: q, k and v are the activations; beta, log_alpha and the state are float32.
#include "longspan/ops/common/autocast.h"

#include <torch/library.h>

#include "longspan/ops/delta_memory/dispatch.h"

namespace longspan::ops::delta {
namespace {

Inputs cast(const Autocast& rule, const Inputs& x) {
  return {rule.activation(x.q), rule.activation(x.k), rule.activation(x.v), rule.parameter(x.beta),
          rule.parameter(x.log_alpha)};
}

template <c10::DeviceType device, c10::DispatchKey key>
Outputs forward(const Inputs& x, const OptionalTensor& state, const Options& options, bool keep) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  const Autocast rule(device, {x.q, x.k, x.v});
  return call_forward(cast(rule, x), rule.parameter(state), options, keep);
}

template <c10::DeviceType device, c10::DispatchKey key>
Extended extend(const Inputs& x, const State& s, const Options& options, bool keep) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  const Autocast rule(device, {x.q, x.k, x.v});
  return call_extend(cast(rule, x), s, options, keep);
}

template <c10::DeviceType device, c10::DispatchKey key>
void register_on(torch::Library& m) {
  m.impl("delta_memory_forward", TORCH_FN((flat_forward<forward<device, key>>)));
  m.impl("delta_memory_extend_forward", TORCH_FN((flat_extend<extend<device, key>>)));
}

}  // namespace
}  // namespace longspan::ops::delta

TORCH_LIBRARY_IMPL(longspan, AutocastCPU, m) {
  longspan::ops::delta::register_on<c10::DeviceType::CPU, c10::DispatchKey::AutocastCPU>(m);
}

TORCH_LIBRARY_IMPL(longspan, AutocastCUDA, m) {
  longspan::ops::delta::register_on<c10::DeviceType::CUDA, c10::DispatchKey::AutocastCUDA>(m);
}
