#include "longspan/base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "longspan/base/check.h"

namespace longspan {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers of Philox4x32-10 as its authors publish them.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, BitsAreTheBlocksInOrder) {
  const uint64_t seed = 0x299f31d0a4093822;
  const uint64_t stream = 0x0370734413198a2e;
  Rng rng(seed, stream);
  for (uint32_t block = 0; block < 3; ++block) {
    const Words words = philox4x32({block, 0, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
    EXPECT_EQ(rng.bits(), words[0] | uint64_t{words[1]} << 32);
    EXPECT_EQ(rng.bits(), words[2] | uint64_t{words[3]} << 32);
  }
  EXPECT_EQ(rng.position(), 6u);
  // Beyond 2^32 blocks the second word of the counter counts.
  rng.set_position(0x5a308d3243f6a88 * 2);
  const Words words = philox4x32({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  EXPECT_EQ(rng.bits(), words[0] | uint64_t{words[1]} << 32);
}

TEST(Rng, PositionJumps) {
  Rng rng(7, 3);
  std::vector<uint64_t> run;
  for (int i = 0; i < 9; ++i) run.push_back(rng.bits());
  for (int i = 8; i >= 0; --i) {
    rng.set_position(i);
    EXPECT_EQ(rng.bits(), run[i]);
  }
}

TEST(Rng, SeedsAndStreamsDiffer) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (uint64_t stream = 0; stream < 10; ++stream) seen.insert(Rng(seed, stream).bits());
  EXPECT_EQ(seen.size(), 100u);
}

TEST(Rng, StreamOfKeepsOrderAndLength) {
  std::set<uint64_t> seen = {stream_of({}),     stream_of({0}),    stream_of({0, 0}),
                             stream_of({1, 2}), stream_of({2, 1}), stream_of({1, 2, 0})};
  EXPECT_EQ(seen.size(), 6u);
  for (uint64_t step = 0; step < 100; ++step)
    for (uint64_t row = 0; row < 100; ++row) seen.insert(stream_of({5, step, row}));
  EXPECT_EQ(seen.size(), 6u + 10000u);
}

TEST(Rng, BelowHasNoBias) {
  EXPECT_THROW(Rng(1).below(0), InputError);
  Rng rng(1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rng.below(1), 0u);

  // bound = 3 * 2^62: by a plain remainder the lowest third would come twice as often as the others. Rejection makes
  // the counts binomial with p = 1/3; six standard deviations of 3000 draws are 155.
  const uint64_t bound = uint64_t{3} << 62;
  std::vector<int> thirds(3);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t value = rng.below(bound);
    ASSERT_LT(value, bound);
    ++thirds[value >> 62];
  }
  for (const int count : thirds) EXPECT_NEAR(count, 1000, 6 * std::sqrt(3000 * (1.0 / 3) * (2.0 / 3)));
}

TEST(Rng, BelowReachesEveryValue) {
  Rng rng(2);
  std::vector<int> counts(7);
  const int draws = 7000;
  for (int i = 0; i < draws; ++i) ++counts[rng.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, draws / 7.0, 6 * std::sqrt(draws * (1.0 / 7) * (6.0 / 7)));
}

// Moments against their standard errors: six standard deviations of the estimate, with a fixed seed.
TEST(Rng, UniformMoments) {
  Rng rng(3);
  const int draws = 20000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = rng.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    ASSERT_EQ(x * 0x1p53, std::floor(x * 0x1p53));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / draws, 0.5, 6 * std::sqrt(1.0 / 12 / draws));
  EXPECT_NEAR(squares / draws, 1.0 / 3, 6 * std::sqrt(4.0 / 45 / draws));
}

TEST(Rng, NormalMoments) {
  Rng rng(4);
  const int draws = 20000;
  double moments[5] = {};
  for (int i = 0; i < draws; ++i) {
    const double x = rng.normal();
    ASSERT_TRUE(std::isfinite(x));
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(x, power) / draws;
  }
  // Variances of x, x^2, x^3, x^4 under the normal law: 1, 2, 15, 96.
  EXPECT_NEAR(moments[1], 0, 6 * std::sqrt(1.0 / draws));
  EXPECT_NEAR(moments[2], 1, 6 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(moments[3], 0, 6 * std::sqrt(15.0 / draws));
  EXPECT_NEAR(moments[4], 3, 6 * std::sqrt(96.0 / draws));
  EXPECT_EQ(rng.position(), 2u * draws);
}

}  // namespace
}  // namespace longspan
