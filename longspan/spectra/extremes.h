// Both ends of the spectrum of a graph: its spectral gap, and beta (specification B.10).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/base/progress.h"
#include "longspan/spectra/topology.h"

namespace longspan::spectra {

/// One eigenvalue of the normalised Laplacian.
struct Extreme {
  double value = 0;
  double residual = 0;              ///< norm of L v - value v: an eigenvalue lies within it; 0 where the value is known
  bool converged = true;            ///< the residual is within the tolerance
  int64_t products = 0;             ///< with the graph, to find it
  std::vector<double> vector = {};  ///< norm 1; empty where it was not computed
};

struct Extremes {
  Extreme second;   ///< lambda_2: 0 without search where the graph is not connected
  Extreme largest;  ///< lambda_max
  /// max(|1 - lambda_2|, |1 - lambda_max|): by how much a step of the random walk contracts at least.
  double beta = 0;
};

struct ExtremesOptions {
  /// Residuals are to be within tolerance times the eigenvalue, as far as float64 goes (1e-14).
  double tolerance = 1e-4;
  int64_t most_products = 100000;  ///< for each of the two
  int64_t memory_limit = 0;        ///< bytes; 0: the memory of the machine
};

/// Bytes that spectral_extremes() takes beside the graph: about 100 vectors.
double bytes_for_extremes(int64_t n);

/// By Lanczos, matrix-free: largest_eigenpair() of N - 2 v v^T (v: the known vector of lambda_1 = 0) and of -N. Nothing
/// for fewer than two tokens, which have no second eigenvalue. InputError with the bytes needed when they exceed the
/// limit. Progress: activity "lanczos", unit "products"; what it throws ends the search.
std::optional<Extremes> spectral_extremes(const Topology& topology, const ExtremesOptions& options = {},
                                          const Parallel& parallel = SerialParallel(), Progress* progress = nullptr);

/// The same of a full spectrum in ascending order, at least two values; without vectors.
Extremes extremes_of(const std::vector<double>& spectrum);

}  // namespace longspan::spectra
