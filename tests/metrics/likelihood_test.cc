#include "longspan/metrics/likelihood.h"

#include <gtest/gtest.h>

#include <limits>

#include "longspan/metrics/metrics.h"

namespace longspan::metrics {
namespace {

TEST(Likelihood, OfUniformChoices) {
  // Among 256 values: 8 bits a byte, and the perplexity is their number. The logarithm is rounded once.
  const double nats = std::log(256.0), bound = 8 * 4 * std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(bits(nats), 8, bound);
  EXPECT_NEAR(masked_bpc(nats), 8, bound);
  EXPECT_NEAR(perplexity(nats), 256, 256 * bound);
  // Ten tokens, of 40 bytes together.
  EXPECT_NEAR(bits_per_byte(10 * nats, 40), 2, bound);
}

TEST(Likelihood, NothingIsHidden) {
  EXPECT_TRUE(std::isnan(bits(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(perplexity(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
}

TEST(Metrics, AreFoundByName) {
  const Metrics some = {{"accuracy", 0.5}, {"f1", 0.25}};
  EXPECT_EQ(value_of(some, "f1"), 0.25);
  EXPECT_EQ(value_of(some, "F1"), std::nullopt);
}

}  // namespace
}  // namespace longspan::metrics
