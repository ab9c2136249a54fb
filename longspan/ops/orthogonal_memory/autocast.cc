// Under autocast the dtype of q decides: bfloat16 stays, and is computed in float32 by the kernel; everything else
// becomes float32. Features that are float32 beside a bfloat16 q stay so, the basis is float32, and the state is what
// its accumulator says.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {
namespace {

template <c10::DeviceType device>
Inputs cast(const Inputs& x) {
  const auto wide = [](const at::Tensor& t) { return at::autocast::cached_cast(at::kFloat, t, device); };
  const bool narrow = x.q.scalar_type() == at::kBFloat16;
  const auto kept = [&](const at::Tensor& t) { return narrow && t.scalar_type() == at::kBFloat16 ? t : wide(t); };
  return {kept(x.q), kept(x.m), wide(x.basis)};
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
