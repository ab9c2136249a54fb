// The largest eigenvalue of a symmetric operator, by Lanczos with full reorthogonalisation (Spectra) on a Chebyshev
// filter.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace longspan::spectra {

/// y = S x for a symmetric S with eigenvalues in [-1, 1].
using SymmetricProduct = std::function<void(const double* x, double* y)>;

struct EigenSearch {
  /// Whether a pair with this value and residual norm is good enough.
  std::function<bool(double value, double residual)> fits;
  int64_t most_products = 0;  ///< with S, about: the search ends behind the first round that goes beyond
  std::function<void(int64_t products)> on_products = {};  ///< now and then; what it throws ends the search
};

struct Eigenpair {
  double value = 0;     ///< Rayleigh quotient of `vector`
  double residual = 0;  ///< ||S v - value v||: an eigenvalue of S lies within it
  int64_t products = 0;
  std::vector<double> vector;  ///< norm 1
};

/// The largest eigenvalue of S over `n` >= 1 dimensions; up to 64 by a dense solver. Each round is a Lanczos
/// factorisation of a polynomial p(S): p(S) = S at first, then the Chebyshev polynomial that grows beyond the sixth
/// best value found so far, so that eigenvalues crowded at the end are told apart. Without convergence the best pair
/// found, with its residual. Start vectors are drawn with a fixed seed: equal calls give equal bits.
Eigenpair largest_eigenpair(int64_t n, const SymmetricProduct& product, const EigenSearch& search);

}  // namespace longspan::spectra
