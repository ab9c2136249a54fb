// The composed form of orthogonal_memory: the equations of docs/ops/orthogonal_memory.md in ATen operators, on every
// device and floating dtype (16-bit ones are computed in float32). Time and memory are linear in N and the number of
// calls is fixed. No value is read on the host: borders, counts and seed may live on the device, where they are not
// checked. Differentiable any number of times.
#pragma once

#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {

/// Checks its arguments, as the next one does.
at::Tensor composed(const Inputs& x, std::string_view form, const Options& options);

Extended composed_extend(const Inputs& x, const State& state, const Options& options);

}  // namespace longspan::ops::memory
