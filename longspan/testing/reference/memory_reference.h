// Orthogonal memory by plain loops in float64: the definition of docs/ops/orthogonal_memory.md and its gradient, with
// nothing shared with the kernels. One sequence and head; rows are contiguous.
#pragma once

#include <cstdint>
#include <vector>

namespace longspan::testing {

struct MemoryCase {
  int64_t slots = 0, width = 0;
  int64_t queries = 0, sources = 0;  ///< rows; equal when causal
  bool causal = true;
  double scale = 1;
  std::vector<double> q, m;   ///< [queries][width], [sources][width]
  std::vector<double> basis;  ///< [slots][width]
  // Causal: the sums before the first row, [slots] or empty for zeros, and how many positions they hold.
  std::vector<double> closed, open;
  int64_t count = 0;
};

/// out [queries][width] and, causal, the sums after the last row. Chunks of 256 positions move from open to closed.
struct MemoryResult {
  std::vector<double> out, closed, open;
};
MemoryResult memory_reference(const MemoryCase& c);

/// Gradients of sum(out o dout) + sum(closed_out o dclosed_out) + sum(open_out o dopen_out).
struct MemoryGradient {
  std::vector<double> q, m, basis, closed, open;
};
MemoryGradient memory_reference_backward(const MemoryCase& c, const std::vector<double>& dout,
                                         const std::vector<double>& dclosed_out = {},
                                         const std::vector<double>& dopen_out = {});

}  // namespace longspan::testing
