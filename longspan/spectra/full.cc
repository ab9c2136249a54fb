#include "longspan/spectra/full.h"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/base/usable_memory.h"
#include "longspan/spectra/laplacian.h"

namespace longspan::spectra {

std::vector<double> full_spectrum(const Topology& topology, const Parallel& parallel, int64_t memory_limit) {
  const int64_t n = topology.size();
  const double needed = 16 * static_cast<double>(n) * static_cast<double>(n);
  const auto limit = static_cast<double>(memory_limit > 0 ? memory_limit : usable_memory());
  LONGSPAN_CHECK(needed <= limit, "spectra: all eigenvalues of ", n, " tokens would need ", std::llround(needed),
                 " bytes, more than the ", std::llround(limit), " there are");
  if (n == 0) return {};
  NormalisedAdjacency adjacency(topology, parallel);
  Eigen::MatrixXd laplacian(n, n);
  Eigen::VectorXd unit = Eigen::VectorXd::Zero(n);
  for (int64_t j = 0; j < n; ++j) {
    unit[j] = 1;
    adjacency.apply(unit.data(), laplacian.col(j).data());
    unit[j] = 0;
  }
  laplacian = -laplacian;
  laplacian.diagonal().array() += 1;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(laplacian, Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success) throw RunError(str_cat("spectra: the dense solver did not converge at n = ", n));
  return {solver.eigenvalues().data(), solver.eigenvalues().data() + n};
}

}  // namespace longspan::spectra
