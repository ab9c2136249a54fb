// The backend `reference`: equations 1 to 4 of docs/ops/delta_memory.md in ATen operators, row by row in float64.
// Differentiable any number of times, on every device and floating dtype.
#pragma once

#include "longspan/ops/delta_memory/dispatch.h"

namespace longspan::ops::delta {

/// Checks its arguments, as the next one does.
Outputs reference(const Inputs& x, const OptionalTensor& state, const Options& options);

Extended reference_extend(const Inputs& x, const State& state, const Options& options);

}  // namespace longspan::ops::delta
