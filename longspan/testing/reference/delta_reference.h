// Delta memory by its recurrence in float64 (docs/ops/delta_memory.md), with nothing shared with the kernels. One
// sequence and head; rows are contiguous.
#pragma once

#include <cstdint>
#include <vector>

namespace longspan::testing {

struct DeltaCase {
  int64_t rows = 0, slots = 0, width = 0;
  bool delta = true;              ///< false: e_t = v_t
  int64_t decay_width = 0;        ///< numbers of log_alpha a row: 0 (no decay), 1 or slots
  std::vector<double> q, k;       ///< [rows][slots]
  std::vector<double> v;          ///< [rows][width]
  std::vector<double> beta;       ///< [rows]
  std::vector<double> log_alpha;  ///< [rows][decay_width]
  std::vector<double> state;      ///< [slots][width] before the first row; empty: zeros
};

struct DeltaResult {
  std::vector<double> out;    ///< [rows][width]
  std::vector<double> state;  ///< behind the last row
  std::vector<double> norms;  ///< [rows + 1] Frobenius norms of the state before the first row and behind every row
};
DeltaResult delta_reference(const DeltaCase& c);

/// Gradients of sum(out o dout) + sum(state o dstate); dstate empty: zeros. Keeps every state: rows slots width
/// numbers.
struct DeltaGradient {
  std::vector<double> q, k, v, beta, log_alpha, state;
  std::vector<double> norms;  ///< [rows] Frobenius norms of the gradient of S_t
};
DeltaGradient delta_reference_backward(const DeltaCase& c, const std::vector<double>& dout,
                                       const std::vector<double>& dstate = {});

/// e_t of every row, [rows][width].
std::vector<double> delta_reference_errors(const DeltaCase& c);

}  // namespace longspan::testing
