// Autocast: a bfloat16 operand stays as it is and takes the float32 ones of q, k and v with it, where bfloat16 is what
// autocast asks for; without one the operator runs in float32. The table, whose entries are small beside the scores, is
// always float32.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {
namespace {

template <c10::DeviceType device, c10::DispatchKey key>
Outputs forward(const Inputs& x, const Options& options) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  const auto low = [](const at::Tensor& t) { return t.scalar_type() == at::kBFloat16; };
  const bool bfloat16 = at::autocast::get_autocast_dtype(device) == at::kBFloat16 && (low(x.q) || low(x.k) || low(x.v));
  const auto to = [](at::ScalarType dtype, const auto& t) { return at::autocast::cached_cast(dtype, t, device); };
  const at::ScalarType dtype = bfloat16 ? at::kBFloat16 : at::kFloat;
  return call_forward({to(dtype, x.q), to(dtype, x.k), to(dtype, x.v), to(at::kFloat, x.table)}, options);
}

constexpr auto cpu = forward<c10::DeviceType::CPU, c10::DispatchKey::AutocastCPU>;
constexpr auto cuda = forward<c10::DeviceType::CUDA, c10::DispatchKey::AutocastCUDA>;

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, AutocastCPU, m) {
  using namespace longspan::ops::local;
  m.impl("local_attention_forward", TORCH_FN(flat_forward<cpu>));
}

TORCH_LIBRARY_IMPL(longspan, AutocastCUDA, m) {
  using namespace longspan::ops::local;
  m.impl("local_attention_forward", TORCH_FN(flat_forward<cuda>));
}
