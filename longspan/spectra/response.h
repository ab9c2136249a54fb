// Diffusion as a filter of the Laplacian's eigenvectors (specification B.10).
#pragma once

#include <cstdint>
#include <span>

namespace longspan::spectra {

/// What sum_k theta_k A^k does to an eigenvector with the Laplacian eigenvalue lambda (A's is 1 - lambda):
/// h(lambda) = sum_k theta_k (1 - lambda)^k. `theta` [K + 1]. Weights that are not negative and sum to 1 have h(0) = 1
/// and |h| <= 1 on [0, 2].
double response(std::span<const double> theta, double lambda);

/// The paper's iteration after `hops` steps in closed form: alpha (1 - c^K) / (1 - c) + c^K, c = (1 - alpha) (1 -
/// lambda).
double ppr_response(double alpha, int64_t hops, double lambda);
/// Its limit, alpha / (alpha + (1 - alpha) lambda); 1 at alpha = lambda = 0.
double ppr_limit(double alpha, double lambda);
/// exp(-t lambda), what `heat` tends to with many hops.
double heat_limit(double t, double lambda);
/// The eigenvalue of the graph that the limit is a plain attention of: 1 - ppr_limit().
double ppr_eigenvalue(double alpha, double lambda);

}  // namespace longspan::spectra
