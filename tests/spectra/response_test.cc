#include "longspan/spectra/response.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "longspan/testing/compare.h"

namespace longspan::spectra {
namespace {

std::vector<double> ppr_weights(double alpha, int64_t hops) {
  std::vector<double> out;
  for (int64_t k = 0; k < hops; ++k) out.push_back(alpha * std::pow(1 - alpha, static_cast<double>(k)));
  out.push_back(std::pow(1 - alpha, static_cast<double>(hops)));
  return out;
}

TEST(Response, PolynomialAndClosedFormAgree) {
  // K + 1 terms of size at most 1, and 1 - c by a division by at least alpha.
  for (const double alpha : {0.05, 0.1, 0.5, 1.0})
    for (const int64_t hops : {0, 1, 5, 12})
      for (double lambda = 0; lambda <= 2; lambda += 0.125)
        EXPECT_NEAR(ppr_response(alpha, hops, lambda), response(ppr_weights(alpha, hops), lambda),
                    testing::sum_bound<double>(4 * hops + 4) / alpha);
}

TEST(Response, MonotoneAndAtMostOne) {
  for (const double alpha : {0.1, 0.3}) {
    EXPECT_DOUBLE_EQ(ppr_response(alpha, 5, 0), 1);
    EXPECT_DOUBLE_EQ(ppr_limit(alpha, 0), 1);
    for (double lambda = 0; lambda < 2; lambda += 0.01) {
      EXPECT_LE(ppr_response(alpha, 5, lambda), 1 + 1e-15);
      EXPECT_LT(ppr_limit(alpha, lambda + 0.01), ppr_limit(alpha, lambda));
      if (lambda + 0.01 <= 1) {
        EXPECT_LT(ppr_response(alpha, 5, lambda + 0.01), ppr_response(alpha, 5, lambda));
      }
    }
  }
}

TEST(Response, Limits) {
  EXPECT_NEAR(ppr_response(0.1, 400, 0.3), ppr_limit(0.1, 0.3), 1e-15) << "0.63^400 is nothing";
  std::vector<double> heat = {std::exp(-3.0)};
  for (int64_t k = 1; k <= 60; ++k) heat.push_back(heat.back() * 3 / static_cast<double>(k));
  for (const double lambda : {0.0, 0.5, 1.0, 2.0})
    EXPECT_NEAR(response(heat, lambda), heat_limit(3, lambda), testing::sum_bound<double>(61));
  EXPECT_EQ(response(std::vector<double>{0, 1}, 0.25), 0.75) << "plain attention";
  EXPECT_EQ(ppr_limit(0, 0), 1);
}

TEST(Response, NewEigenvalueIsLargerBelowTheKnee) {
  // It exceeds lambda iff alpha / (1 - alpha) + lambda < 1.
  for (const double alpha : {0.1, 0.4})
    for (double lambda = 0.03; lambda < 2; lambda += 0.1)
      EXPECT_EQ(ppr_eigenvalue(alpha, lambda) > lambda, alpha / (1 - alpha) + lambda < 1) << alpha << " " << lambda;
}

}  // namespace
}  // namespace longspan::spectra
