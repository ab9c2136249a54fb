// Under autocast the operators run in float32: their sums and their softmax are the last to lose bits. The state is
// float64 in any case.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {
namespace {

template <c10::DeviceType device>
at::Tensor wide(const at::Tensor& t) {
  return at::autocast::cached_cast(at::kFloat, t, device);
}

template <c10::DeviceType device, c10::DispatchKey key>
at::Tensor forward(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                   double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                   std::string_view backend) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  return call_forward(wide<device>(q), wide<device>(m), wide<device>(basis), form, scale, cu_seqlens, cu_seqlens_source,
                      backend);
}

template <c10::DeviceType device, c10::DispatchKey key>
Tensors4 extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                const at::Tensor& open, const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens,
                std::string_view backend) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  return call_extend(wide<device>(q), wide<device>(m), wide<device>(basis), closed, open, count, scale, cu_seqlens,
                     backend);
}

template <c10::DeviceType device, c10::DispatchKey key>
void register_on(torch::Library& m) {
  m.impl("orthogonal_memory", TORCH_FN((forward<device, key>)));
  m.impl("orthogonal_memory_extend", TORCH_FN((extend<device, key>)));
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, AutocastCPU, m) {
  longspan::ops::memory::register_on<c10::DeviceType::CPU, c10::DispatchKey::AutocastCPU>(m);
}

TORCH_LIBRARY_IMPL(longspan, AutocastCUDA, m) {
  longspan::ops::memory::register_on<c10::DeviceType::CUDA, c10::DispatchKey::AutocastCUDA>(m);
}
