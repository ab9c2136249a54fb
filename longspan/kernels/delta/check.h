// Rules that hold for forward and backward of delta memory alike.
#pragma once

#include <cstdint>
#include <limits>

#include "longspan/base/check.h"
#include "longspan/kernels/delta/delta_memory.h"

namespace longspan::kernels::delta {

/// Throws InputError.
template <class S>
void check_delta(const DeltaParams<S>& p) {
  LONGSPAN_CHECK(p.sequences >= 0, "delta memory: sequences must not be negative, got ", p.sequences);
  LONGSPAN_CHECK(p.heads >= 0, "delta memory: heads must not be negative, got ", p.heads);
  LONGSPAN_CHECK(p.slots >= 1 && p.slots <= kDeltaLargest, "delta memory: slots must be 1 to ", kDeltaLargest, ", got ",
                 p.slots);
  LONGSPAN_CHECK(p.width >= 1 && p.width <= kDeltaLargest, "delta memory: width must be 1 to ", kDeltaLargest, ", got ",
                 p.width);
  for (int64_t s = 0; s < p.sequences; ++s) {
    const int64_t rows = p.rows.size(s);
    LONGSPAN_CHECK(rows >= 0, "delta memory: rows of sequence ", s, " must not be negative, got ", rows);
    if (p.state.position == nullptr) continue;
    const int64_t position = p.state.position[s], most = std::numeric_limits<int64_t>::max() - rows;
    LONGSPAN_CHECK(position >= 0 && position <= most, "delta memory: position of sequence ", s,
                   " must be 0 to 2^63 - 1 - ", rows, " = ", most, ", got ", position);
  }
  const bool rows_needed = p.decay != DeltaDecay::none && p.state.log_alpha == nullptr;
  LONGSPAN_CHECK(p.state.position == nullptr || (p.state.keys && p.state.writes && !rows_needed),
                 "delta memory: a state with a position needs the rows of the chunk under way, got none");
}

}  // namespace longspan::kernels::delta
