// Slow, obvious local attention in float64, for tests: one sequence, one head, plain loops over the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/dropout.h"

namespace longspan::testing {

/// One (sequence, head). Query row i stands at key position keys - queries + i.
struct LocalReferenceProblem {
  int64_t queries = 0, keys = 0;
  int64_t width = 0, value_width = 0;
  int64_t reach_left = 0, reach_right = 0;
  double scale = 1;
  std::vector<double> q;      ///< [queries, width]
  std::vector<double> k;      ///< [keys, width]
  std::vector<double> v;      ///< [keys, value_width]
  std::vector<double> table;  ///< element j - i + table_centre; empty for none
  int64_t table_centre = 0;
  Dropout dropout;
  int64_t row = 0, head = 0, start = 0;  ///< of dropout; the position of key 0
};

struct LocalReferenceForward {
  std::vector<double> out;  ///< [queries, value_width]
  std::vector<double> lse;  ///< [queries]
};

struct LocalReferenceBackward {
  std::vector<double> dq, dk, dv, dtable;
};

LocalReferenceForward local_reference_forward(const LocalReferenceProblem& problem);

/// Gradients of sum(dout * out).
LocalReferenceBackward local_reference_backward(const LocalReferenceProblem& problem, const std::vector<double>& dout);

}  // namespace longspan::testing
