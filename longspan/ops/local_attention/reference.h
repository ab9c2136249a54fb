// The backend `reference` of local_attention: equations 1 and 2 of docs/ops/local_attention.md in ATen operators, with
// the full N x M score matrix of each sequence. Exact, differentiable any number of times, on every device and floating
// dtype (16-bit ones are computed in float32); quadratic in time and memory.
#pragma once

#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {

/// out and lse; lse carries no gradient. Checks its arguments.
Outputs reference(const Inputs& x, const Options& options);

}  // namespace longspan::ops::local
