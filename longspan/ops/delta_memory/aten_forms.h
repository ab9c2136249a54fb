// The forms in ATen operators, for what the kernel does not take.
#pragma once

#include "longspan/ops/common/backend.h"
#include "longspan/ops/delta_memory/composed.h"
#include "longspan/ops/delta_memory/reference.h"

namespace longspan::ops::delta {

/// `chosen` is one of the two. They keep no segments.
inline Outputs run_in_aten(Backend chosen, const Inputs& x, const OptionalTensor& state, const Options& options) {
  return chosen == Backend::reference ? reference(x, state, options) : composed(x, state, options);
}
inline Extended run_in_aten(Backend chosen, const Inputs& x, const State& state, const Options& options) {
  return chosen == Backend::reference ? reference_extend(x, state, options) : composed_extend(x, state, options);
}

}  // namespace longspan::ops::delta
