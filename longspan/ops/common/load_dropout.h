// Dropout of an operator's arguments.
#pragma once

#include "longspan/base/dropout.h"
#include "longspan/ops/common/optional.h"

namespace longspan::ops {

/// Reads the seed, so it must have a value (check_dropout() is the rule for both).
inline Dropout load_dropout(double probability, const OptionalTensor& seed) {
  if (probability == 0) return {};
  return {probability, static_cast<uint64_t>(seed->item<int64_t>())};
}

}  // namespace longspan::ops
