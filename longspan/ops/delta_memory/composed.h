// The composed form of delta_memory: the chunked form of docs/ops/delta_memory.md in ATen operators, on every device
// and floating dtype (16-bit ones are computed in float32). Time and memory are linear in N and the number of calls is
// fixed. No value is read on the host: borders and positions may live on the device, where they are not checked.
// Differentiable any number of times.
#pragma once

#include "longspan/ops/delta_memory/dispatch.h"

namespace longspan::ops::delta {

/// Checks its arguments, as the next one does.
Outputs composed(const Inputs& x, const OptionalTensor& state, const Options& options);

Extended composed_extend(const Inputs& x, const State& state, const Options& options);

}  // namespace longspan::ops::delta
