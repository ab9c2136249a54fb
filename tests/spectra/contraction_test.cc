#include "longspan/spectra/contraction.h"

#include <gtest/gtest.h>

#include "longspan/base/check.h"
#include "longspan/base/rng.h"

namespace longspan::spectra {
namespace {

TEST(Contraction, ByHand) {
  const std::vector<double> equal = {.25, .75, .25, .75}, apart = {1, 0, 0, 1}, some = {.5, .5, 0, .25, .25, .5};
  EXPECT_EQ(row_distances(equal.data(), 2, 2).largest, 0);
  EXPECT_EQ(row_distances(apart.data(), 2, 2).largest, 1);
  EXPECT_EQ(row_distances(some.data(), 2, 3).largest, 0.5);
  EXPECT_EQ(row_distances(some.data(), 1, 3).largest, 0);
  EXPECT_EQ(row_distances(nullptr, 0, 0).mean, 0);
  const std::vector<double> three = {1, 0, 0, 1, 1, 0};
  EXPECT_DOUBLE_EQ(row_distances(three.data(), 3, 2).mean, 2.0 / 3);
  const std::vector<double> x = {1, 5, 3, -1};
  EXPECT_EQ(oscillation(x.data(), 2, 2), 6);
  EXPECT_EQ(oscillation(nullptr, 0, 4), 0);
}

TEST(Contraction, HopsStayWithinTheBound) {
  const int64_t n = 30, width = 3, hops = 6;
  Rng rng(3);
  std::vector<double> a(n * n), v(n * width);
  for (double& value : v) value = rng.normal();
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += a[i * n + j] = rng.uniform();
    for (int64_t j = 0; j < n; ++j) a[i * n + j] /= sum;
  }
  const double tau = row_distances(a.data(), n, n).largest;
  EXPECT_EQ(tau, row_distances(a.data(), n, n, ThreadPool(3)).largest);
  const HopContraction found = hop_contraction(a.data(), v.data(), n, width, tau, 0.1, hops);
  ASSERT_EQ(found.measured.size(), 7u);
  EXPECT_EQ(found.measured[0], 1);
  EXPECT_DOUBLE_EQ(found.bound[2], 0.81 * tau * tau);
  for (std::size_t k = 1; k < 7; ++k) {
    EXPECT_LE(found.measured[k], found.bound[k] + 1e-13);
    EXPECT_LT(found.measured[k], found.measured[k - 1]);
  }
}

TEST(Contraction, PermutationsAttainIt) {
  // Rows that share nothing: tau = 1. The state turns round and shrinks by 1 - alpha in each hop.
  const std::vector<double> a = {0, 1, 0, 0, 0, 1, 1, 0, 0}, v = {1, 0, -1};
  const HopContraction found = hop_contraction(a.data(), v.data(), 3, 1, 1, 0.1, 3);
  EXPECT_NEAR(found.bound[3], 0.729, 1e-15);
  EXPECT_NEAR(found.measured[3], 0.729, 1e-13);
  EXPECT_THROW(hop_contraction(a.data(), v.data(), 3, 1, 1, 0, 3), InputError) << "a permutation has no limit";
}

}  // namespace
}  // namespace longspan::spectra
