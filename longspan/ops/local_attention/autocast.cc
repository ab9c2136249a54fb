// The rule is that of common/autocast.h.
#include "longspan/ops/common/autocast.h"

#include <torch/library.h>

#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {
namespace {

template <c10::DeviceType device, c10::DispatchKey key>
Outputs forward(const Inputs& x, const Options& options) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(key);
  const Autocast cast(device, {x.q, x.k, x.v});
  return call_forward({cast.activation(x.q), cast.activation(x.k), cast.activation(x.v), cast.parameter(x.table)},
                      options);
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
