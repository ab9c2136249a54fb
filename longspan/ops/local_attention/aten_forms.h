// The forms in ATen operators, for what the kernel does not take.
#pragma once

#include "longspan/ops/common/backend.h"
#include "longspan/ops/local_attention/composed_band.h"
#include "longspan/ops/local_attention/reference.h"

namespace longspan::ops::local {

/// `chosen` is one of the two.
inline Outputs run_in_aten(Backend chosen, const Inputs& x, const Options& options) {
  return chosen == Backend::reference ? reference(x, options) : composed(x, options);
}

}  // namespace longspan::ops::local
