// W = max(M, M^T) of a pattern M as pieces that multiply a vector without a list of their pairs.
#pragma once

#include <cstdint>
#include <memory>

#include "longspan/base/parallel.h"
#include "longspan/patterns/pattern.h"
#include "longspan/spectra/range_sums.h"

namespace longspan::spectra {

/// Work space of Graph::apply(): one for each thread that calls it.
struct GraphScratch {
  RangeSums all, inner, columns;
};

class Graph {
 public:
  virtual ~Graph() = default;
  /// y = W x, both [N]. The bits do not depend on the number of threads.
  virtual void apply(const double* x, double* y, GraphScratch& scratch, const Parallel& parallel) const = 0;
  /// Bytes held beside the pattern's own.
  virtual int64_t bytes() const = 0;

 protected:
  /// Rows of one task.
  static constexpr int64_t kRows = 1024;
};

/// Of a causal pattern, where M + M^T has only the diagonal twice.
std::unique_ptr<Graph> make_causal_graph(const patterns::Pattern& pattern, const Parallel& parallel);
/// Of any other: M and M^T are united piece by piece.
std::unique_ptr<Graph> make_united_graph(const patterns::Pattern& pattern, const Parallel& parallel);

}  // namespace longspan::spectra
