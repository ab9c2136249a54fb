#include "longspan/spectra/contraction.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"

namespace longspan::spectra {

namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

RowDistances row_distances(const double* a, int64_t rows, int64_t columns, const Parallel& parallel) {
  std::vector<RowDistances> of_row(static_cast<std::size_t>(rows));
  parallel.run(rows, [&](int64_t i, int) {
    RowDistances& mine = of_row[static_cast<std::size_t>(i)];
    for (int64_t k = 0; k < i; ++k) {
      const Eigen::Map<const Eigen::ArrayXd> x(a + i * columns, columns), y(a + k * columns, columns);
      const double distance = (x - y).abs().sum() / 2;
      mine.largest = std::max(mine.largest, distance);
      mine.mean += distance;
    }
  });
  RowDistances out;
  for (const RowDistances& row : of_row) {
    out.largest = std::max(out.largest, row.largest);
    out.mean += row.mean;
  }
  if (rows >= 2) out.mean /= static_cast<double>(rows) * static_cast<double>(rows - 1) / 2;
  return out;
}

double oscillation(const double* x, int64_t rows, int64_t columns) {
  if (rows == 0 || columns == 0) return 0;
  const Eigen::Map<const RowMajor> map(x, rows, columns);
  return (map.colwise().maxCoeff() - map.colwise().minCoeff()).maxCoeff();
}

HopContraction hop_contraction(const double* a, const double* v, int64_t n, int64_t width, double tau, double alpha,
                               int64_t hops) {
  LONGSPAN_CHECK(alpha > 0 && alpha <= 1, "contraction: alpha must be above 0 and at most 1, got ", alpha);
  LONGSPAN_CHECK(hops >= 0, "contraction: hops must be at least 0, got ", hops);
  HopContraction out;
  const Eigen::Map<const RowMajor> weights(a, n, n), values(v, n, width);
  const RowMajor limit = (Eigen::MatrixXd::Identity(n, n) - (1 - alpha) * weights).partialPivLu().solve(alpha * values);
  RowMajor z = values;
  const auto away = [&] {
    const RowMajor difference = z - limit;
    return oscillation(difference.data(), n, width);
  };
  const double before = away();
  for (int64_t k = 0; k <= hops; ++k) {
    if (k > 0) z = (1 - alpha) * (weights * z).eval() + alpha * values;
    out.bound.push_back(std::pow((1 - alpha) * tau, static_cast<double>(k)));
    out.measured.push_back(before > 0 ? away() / before : 0);
  }
  return out;
}

}  // namespace longspan::spectra
