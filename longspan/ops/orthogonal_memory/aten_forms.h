// The forms in ATen operators, for what the kernel does not take.
#pragma once

#include "longspan/ops/common/backend.h"
#include "longspan/ops/orthogonal_memory/composed_scan.h"
#include "longspan/ops/orthogonal_memory/reference.h"

namespace longspan::ops::memory {

/// `chosen` is one of the two.
inline at::Tensor run_in_aten(Backend chosen, const Inputs& x, std::string_view form, const Options& options) {
  return chosen == Backend::reference ? reference(x, form, options) : composed(x, form, options);
}
inline Extended run_in_aten(Backend chosen, const Inputs& x, const State& state, const Options& options) {
  return chosen == Backend::reference ? reference_extend(x, state, options) : composed_extend(x, state, options);
}

}  // namespace longspan::ops::memory
