// Orthogonal memory by plain loops in float64: the definition of docs/ops/orthogonal_memory.md and its gradient, with
// nothing shared with the kernels. One sequence and head; rows are contiguous.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/dropout.h"

namespace longspan::testing {

struct MemoryCase {
  int64_t slots = 0, width = 0;
  int64_t queries = 0, sources = 0;  ///< rows; equal when causal
  bool causal = true;
  int64_t window = 0;  ///< causal: w > 0, position t sees j < floor(t / w) w; 0, j <= t
  double scale = 1;
  Dropout dropout;  ///< of p, with the number of the sequence and of the head
  int64_t sequence = 0, head = 0;
  std::vector<double> q, m;   ///< [queries][width], [sources][width]
  std::vector<double> basis;  ///< [slots][width]
  // Causal: the sums before the first row, [slots] or empty for zeros, and how many positions they hold.
  std::vector<double> closed, open;
  int64_t count = 0;
  std::vector<double> visible;  ///< with a window: what the window under way reads, [slots] or empty for zeros
};

/// out [queries][width] and, causal, the state after the last row. Chunks of 256 positions move from open to closed.
struct MemoryResult {
  std::vector<double> out, closed, open, visible;
};
MemoryResult memory_reference(const MemoryCase& c);

/// Gradients of sum(out o dout) + the same for closed, open and visible of the result; absent ones are zero.
struct MemoryGradient {
  std::vector<double> q, m, basis, closed, open, visible;
};
MemoryGradient memory_reference_backward(const MemoryCase& c, const std::vector<double>& dout,
                                         const std::vector<double>& dclosed_out = {},
                                         const std::vector<double>& dopen_out = {},
                                         const std::vector<double>& dvisible_out = {});

}  // namespace longspan::testing
