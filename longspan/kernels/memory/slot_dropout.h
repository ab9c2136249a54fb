// Dropout of the reading weights of one sequence and head.
#pragma once

#include <cstdint>

#include "longspan/base/dropout.h"

namespace longspan::kernels::memory {

struct SlotDropout : Dropout {
  int64_t sequence = 0, head = 0;
};

}  // namespace longspan::kernels::memory
