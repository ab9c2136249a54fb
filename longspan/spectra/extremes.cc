#include "longspan/spectra/extremes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/usable_memory.h"
#include "longspan/spectra/laplacian.h"
#include "longspan/spectra/largest_eigenvalue.h"

namespace longspan::spectra {

namespace {

constexpr double kRounding = 1e-14;  // residuals of a product in float64 do not go below it
constexpr double kVectors = 100;     // Lanczos' basis, its Ritz vectors, and those at work

double beta_of(double second, double largest) { return std::max(std::abs(1 - second), std::abs(1 - largest)); }

Extreme search(NormalisedAdjacency& adjacency, bool for_second, const ExtremesOptions& options, Progress* progress) {
  const auto n = adjacency.size();
  const std::vector<double> known = for_second ? adjacency.stationary_direction() : std::vector<double>();
  const auto product = [&](const double* x, double* y) {
    adjacency.apply(x, y);
    if (!for_second) {
      for (int64_t i = 0; i < n; ++i) y[i] = -y[i];
      return;
    }
    double along = 0;
    for (int64_t i = 0; i < n; ++i) along += known[static_cast<std::size_t>(i)] * x[i];
    for (int64_t i = 0; i < n; ++i) y[i] -= 2 * along * known[static_cast<std::size_t>(i)];
  };
  EigenSearch goal;
  goal.most_products = options.most_products;
  if (progress)
    goal.on_products = [&](int64_t done) { progress->report({"lanczos", "products", done, options.most_products, 0}); };
  goal.fits = [&](double value, double residual) {
    const double lambda = for_second ? 1 - value : 1 + value;
    return residual <= std::max(options.tolerance * std::abs(lambda), kRounding);
  };
  Eigenpair found = largest_eigenpair(n, product, goal);
  Extreme out;
  out.value = for_second ? 1 - found.value : 1 + found.value;
  out.residual = found.residual;
  out.converged = goal.fits(found.value, found.residual);
  out.products = found.products;
  out.vector = std::move(found.vector);
  return out;
}

}  // namespace

double bytes_for_extremes(int64_t n) { return kVectors * 8 * static_cast<double>(n); }

Extremes extremes_of(const std::vector<double>& spectrum) {
  LONGSPAN_CHECK(spectrum.size() >= 2, "spectra: a spectrum of at least two eigenvalues is needed, got ",
                 spectrum.size());
  Extremes out;
  out.second.value = spectrum[1];
  out.largest.value = spectrum.back();
  out.beta = beta_of(out.second.value, out.largest.value);
  return out;
}

std::optional<Extremes> spectral_extremes(const Topology& topology, const ExtremesOptions& options,
                                          const Parallel& parallel, Progress* progress) {
  const int64_t n = topology.size();
  if (n < 2) return std::nullopt;
  const double needed = bytes_for_extremes(n) + static_cast<double>(topology.bytes());
  const auto limit = static_cast<double>(options.memory_limit > 0 ? options.memory_limit : usable_memory());
  LONGSPAN_CHECK(needed <= limit, "spectra: the extreme eigenvalues of ", n, " tokens would need ",
                 std::llround(needed), " bytes, more than the ", std::llround(limit), " there are");
  NormalisedAdjacency adjacency(topology, parallel);
  Extremes out;
  if (topology.components() == 1) out.second = search(adjacency, true, options, progress);
  out.largest = search(adjacency, false, options, progress);
  out.beta = beta_of(out.second.value, out.largest.value);
  return out;
}

}  // namespace longspan::spectra
