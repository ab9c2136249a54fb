// Under autocast the operator runs in float32: its sums and its softmax are the last to lose bits.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {
namespace {

template <c10::DeviceType device, c10::DispatchKey key>
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                           std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                           const OptionalTensor& cu_seqlens_k, std::string_view backend) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  const auto wide = [](const auto& t) { return at::autocast::cached_cast(at::kFloat, t, device); };
  return call_forward(wide(q), wide(k), wide(v), wide(table), reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k,
                      backend);
}

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, AutocastCPU, m) {
  m.impl("local_attention_forward",
         TORCH_FN((longspan::ops::local::forward<c10::DeviceType::CPU, c10::DispatchKey::AutocastCPU>)));
}

TORCH_LIBRARY_IMPL(longspan, AutocastCUDA, m) {
  m.impl("local_attention_forward",
         TORCH_FN((longspan::ops::local::forward<c10::DeviceType::CUDA, c10::DispatchKey::AutocastCUDA>)));
}
