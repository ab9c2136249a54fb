// The backend `reference`: the equations of docs/ops/orthogonal_memory.md in ATen operators, sequence by sequence.
// Exact, differentiable any number of times, on every device and floating dtype (16-bit ones are computed in float32).
#pragma once

#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {

/// Checks its arguments, as the next one does.
at::Tensor reference(const Inputs& x, std::string_view form, const Options& options);

Extended reference_extend(const Inputs& x, const State& state, const Options& options);

}  // namespace longspan::ops::memory
