// The composed form of local_attention: equations 1 and 2 of docs/ops/local_attention.md in ATen operators, on every
// device and floating dtype (16-bit ones are computed in float32). Blocks of queries meet the keys of their block and
// of its neighbours in one batched product, so time and memory are linear in N and the number of calls is fixed. No
// value is read on the host: borders and seed may live on the device, where borders are not checked. Differentiable any
// number of times.
#pragma once

#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {

/// out and lse; lse carries no gradient. Checks its arguments.
Outputs composed(const Inputs& x, const Options& options);

}  // namespace longspan::ops::local
