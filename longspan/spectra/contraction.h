// How much one attention matrix, weights and all, draws its rows together (specification B.10).
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/parallel.h"

namespace longspan::spectra {

/// Half the 1-norm of the difference of two rows, over all pairs of rows; 0 for less than two rows.
struct RowDistances {
  /// tau(A), Dobrushin's coefficient: the range of a column of A x is at most tau times that of x, whatever x. In [0,
  /// 1] for rows that sum to 1: 0 when all rows are equal, 1 when two rows share no key.
  double largest = 0;
  double mean = 0;
};

/// `a` [rows, columns], row-major. O(rows^2 columns) time. The bits do not depend on the number of threads.
RowDistances row_distances(const double* a, int64_t rows, int64_t columns, const Parallel& parallel = SerialParallel());

/// osc(x): the largest range (greatest minus least value) among the columns of `x` [rows, columns].
double oscillation(const double* x, int64_t rows, int64_t columns);

/// The paper's iteration Z_0 = V, Z_{k+1} = (1 - alpha) A Z_k + alpha V against its limit Z_*.
struct HopContraction {
  std::vector<double> bound;     ///< [hops + 1]: ((1 - alpha) tau)^k
  std::vector<double> measured;  ///< [hops + 1]: osc(Z_k - Z_*) / osc(V - Z_*); zeros where V is the limit
};

/// `a` [n, n] with rows that sum to 1, `v` [n, width]; `tau` is row_distances(a).largest; 0 < alpha <= 1 (InputError
/// otherwise: there may be no limit). The limit comes from a dense solution, O(n^3) time, 24 n^2 bytes.
HopContraction hop_contraction(const double* a, const double* v, int64_t n, int64_t width, double tau, double alpha,
                               int64_t hops);

}  // namespace longspan::spectra
