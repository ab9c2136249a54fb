// The rule is that of common/autocast.h. The state stays what its accumulator says.
#include "longspan/ops/common/autocast.h"

#include <torch/library.h>

#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {
namespace {

template <c10::DeviceType device>
Inputs cast(const Inputs& x) {
  const Autocast cast(device, {x.q, x.m});
  return {cast.activation(x.q), cast.wide_activation(x.m), cast.parameter(x.basis)};
}

template <c10::DeviceType device, c10::DispatchKey key>
at::Tensor forward(const Inputs& x, std::string_view form, const Options& options) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  return call_forward(cast<device>(x), form, options);
}

template <c10::DeviceType device, c10::DispatchKey key>
Extended extend(const Inputs& x, const State& state, const Options& options) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  return call_extend(cast<device>(x), state, options);
}

template <c10::DeviceType device, c10::DispatchKey key>
void register_on(torch::Library& m) {
  m.impl("orthogonal_memory", TORCH_FN((flat_forward<forward<device, key>>)));
  m.impl("orthogonal_memory_extend", TORCH_FN((flat_extend<extend<device, key>>)));
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, AutocastCPU, m) {
  longspan::ops::memory::register_on<c10::DeviceType::CPU, c10::DispatchKey::AutocastCPU>(m);
}

TORCH_LIBRARY_IMPL(longspan, AutocastCUDA, m) {
  longspan::ops::memory::register_on<c10::DeviceType::CUDA, c10::DispatchKey::AutocastCUDA>(m);
}
