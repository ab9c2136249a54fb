#include "longspan/spectra/largest_eigenvalue.h"

#include <Spectra/SymEigsSolver.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/rng.h"

namespace longspan::spectra {

namespace {

constexpr int64_t kFirstSteps = 64, kFilteredSteps = 20;  // of a factorisation
constexpr int64_t kReported = 32;                         // products between two reports
constexpr int64_t kWanted = 6;                            // Ritz pairs looked at
constexpr double kNoGain = 1e-15;                         // by which a round that is over did not raise the value
constexpr double kGrowth = 10;  // log of how much the filter prefers the best value to the sixth

/// p(S), in the form that Spectra asks for: S itself, or T_degree((2 S - (cut - 1)) / (cut + 1)), which stays within
/// [-1, 1] on [-1, cut] and grows beyond.
class Filter {
 public:
  using Scalar = double;

  Filter(int64_t n, const SymmetricProduct& product, const EigenSearch& search)
      : n_(n), product_(product), search_(search), next_(n), before_(n) {}

  Eigen::Index rows() const { return n_; }
  Eigen::Index cols() const { return n_; }
  int64_t products() const { return products_; }

  /// At most the degree that the products left allow for a factorisation of `steps`.
  void set(double cut, double best, int64_t steps) {
    cut_ = cut;
    const int64_t most = std::max<int64_t>((search_.most_products - products_) / steps, 2);
    const double place = mapped(best);
    degree_ = std::clamp<int64_t>(std::llround(kGrowth / std::acosh(std::max(place, 1 + 1e-15))), 2, most);
  }
  /// p(S) = S.
  void clear() { degree_ = 1; }
  void multiply(const double* x, double* y) const {
    product_(x, y);
    if (++products_ % kReported == 0 && search_.on_products) search_.on_products(products_);
  }
  void perform_op(const double* x, double* y) const {
    multiply(x, y);
    if (degree_ == 1) return;
    Eigen::Map<Eigen::VectorXd> current(y, n_);
    before_ = Eigen::Map<const Eigen::VectorXd>(x, n_);
    const double scale = 2 / (cut_ + 1), shift = (cut_ - 1) / (cut_ + 1);
    current = scale * current - shift * before_;
    for (int64_t k = 2; k <= degree_; ++k) {
      multiply(current.data(), next_.data());
      next_ = 2 * (scale * next_ - shift * current) - before_;
      before_ = current;
      current = next_;
    }
  }

 private:
  double mapped(double value) const { return (2 * value - (cut_ - 1)) / (cut_ + 1); }

  int64_t n_;
  const SymmetricProduct& product_;
  const EigenSearch& search_;
  double cut_ = 1;
  int64_t degree_ = 1;
  mutable int64_t products_ = 0;
  mutable Eigen::VectorXd next_, before_;
};

/// The best Ritz vectors of one factorisation, their Rayleigh quotients with S in descending order.
struct Round {
  std::vector<double> values;
  Eigen::VectorXd best;
  double residual = 0;
};

Round factorise(Filter& filter, const Eigen::VectorXd& start, int64_t steps) {
  const int64_t n = start.size(), wanted = std::min(kWanted, n - 1);
  Spectra::SymEigsSolver<Filter> solver(filter, wanted, std::max(wanted + 1, std::min(steps, n)));
  solver.init(start.data());
  // One factorisation, whatever came of it: convergence is judged by residuals with S itself.
  solver.compute(Spectra::SortRule::LargestAlge, 1, std::numeric_limits<double>::infinity());
  Eigen::MatrixXd vectors = solver.eigenvectors();
  LONGSPAN_ASSERT(vectors.cols() > 0, "Lanczos: no Ritz vector");
  Round out;
  Eigen::VectorXd product(n);
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < vectors.cols(); ++i) {
    vectors.col(i).normalize();
    filter.multiply(vectors.col(i).data(), product.data());
    const double value = vectors.col(i).dot(product);
    out.values.push_back(value);
    if (value <= largest) continue;
    largest = value;
    out.best = vectors.col(i);
    out.residual = (product - value * vectors.col(i)).norm();
  }
  std::sort(out.values.rbegin(), out.values.rend());
  return out;
}

/// Of a small S, formed whole.
Eigenpair by_dense_solver(int64_t n, const SymmetricProduct& product) {
  Eigen::MatrixXd s(n, n);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n), y(n);
  for (int64_t j = 0; j < n; ++j) {
    x[j] = 1;
    product(x.data(), y.data());
    s.col(j) = y;
    x[j] = 0;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(s);
  x = solver.eigenvectors().col(n - 1);
  product(x.data(), y.data());
  Eigenpair out;
  out.value = x.dot(y);
  out.residual = (y - out.value * x).norm();
  out.products = n + 1;
  out.vector.assign(x.data(), x.data() + n);
  return out;
}

}  // namespace

Eigenpair largest_eigenpair(int64_t n, const SymmetricProduct& product, const EigenSearch& search) {
  LONGSPAN_CHECK(n >= 1, "Lanczos: n must be at least 1, got ", n);
  if (n <= kFirstSteps) return by_dense_solver(n, product);
  Filter filter(n, product, search);
  Eigen::VectorXd start(n);
  Rng rng(0, stream_of({0x4c616e637a6f73}));
  for (int64_t i = 0; i < n; ++i) start[i] = rng.uniform() - 0.5;

  Eigenpair out;
  out.value = -std::numeric_limits<double>::infinity();
  out.residual = std::numeric_limits<double>::infinity();
  const auto keep_better = [&](const Round& found) {
    if (!(found.values.front() > out.value) && !(found.residual < out.residual)) return;
    out.value = found.values.front();
    out.residual = found.residual;
    out.vector.assign(found.best.data(), found.best.data() + n);
  };
  Round found = factorise(filter, start, kFirstSteps);
  for (bool first = true;; first = false) {
    const double value_before = out.value, residual_before = out.residual;
    keep_better(found);
    if (!first) {
      // A filter of high degree leaves rounding in all directions; those far from the best one cost a few steps to
      // remove.
      filter.clear();
      keep_better(factorise(filter, found.best, kFirstSteps));
    }
    out.products = filter.products();
    const bool stalls = out.value - value_before <= kNoGain && out.residual > residual_before / 2;
    const double best = found.values.front(), cut = found.values.back();
    if (search.fits(out.value, out.residual) || stalls || out.products >= search.most_products || !(cut > -1) ||
        !(best > cut))
      return out;
    filter.set(cut, best, kFilteredSteps);
    start = Eigen::Map<const Eigen::VectorXd>(out.vector.data(), n);
    found = factorise(filter, start, kFilteredSteps);
  }
}

}  // namespace longspan::spectra
