#include "longspan/spectra/reach.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace longspan::spectra {
namespace {

TEST(Reach, WindowsReachSoFarWithEveryHop) {
  const patterns::Pattern pattern = pattern_of("window_band", 11, {{"k", int64_t{2}}});
  const Reach reach = reach_of(pattern, 6, 1000);
  EXPECT_EQ(reach.queries, 11);
  for (int64_t hop = 1; hop <= 5; ++hop)
    EXPECT_DOUBLE_EQ(reach.least[static_cast<std::size_t>(hop - 1)], static_cast<double>(1 + 2 * hop) / 11) << "an end";
  EXPECT_EQ(reach.hops_to_all, 5);
  EXPECT_EQ(reach.mean.back(), 1);
  EXPECT_EQ(reach_of(pattern, 4, 1000).hops_to_all, std::nullopt);
}

TEST(Reach, OneGlobalTokenNeedsTwoHops) {
  const patterns::Pattern pattern = pattern_of("window_band+global", 500, {{"k", int64_t{1}}, {"g", int64_t{1}}});
  EXPECT_EQ(reach_of(pattern, 5, 64).hops_to_all, 2);
}

TEST(Reach, PairsHaveADirectionAndCausalQueriesTheirPast) {
  const Reach chain = reach_of(pattern_of_pairs(3, {{0, 1}, {1, 2}}), 3, 3);
  // Without loops: 0 reaches 1, then 2; 1 reaches 2; 2 nothing.
  EXPECT_DOUBLE_EQ(chain.mean[0], 2.0 / 9);
  EXPECT_DOUBLE_EQ(chain.mean[1], 3.0 / 9);
  EXPECT_EQ(chain.least[2], 0);
  const Reach causal = reach_of(pattern_of("window_band", 9, {{"k", int64_t{2}}, {"causal", true}}), 4, 100);
  EXPECT_EQ(causal.hops_to_all, 4) << "the last of 9 reaches the first";
  EXPECT_DOUBLE_EQ(causal.least[0], 3.0 / 9);
}

TEST(Reach, FewTokensAndThreads) {
  EXPECT_EQ(reach_of(pattern_of("full", 0), 2, 10).hops_to_all, std::nullopt);
  EXPECT_EQ(reach_of(pattern_of("full", 1), 2, 10).hops_to_all, 1);
  const patterns::Pattern pattern = pattern_of("random", 700, {{"r", int64_t{2}}});
  const Reach serial = reach_of(pattern, 5, 40), parallel = reach_of(pattern, 5, 40, ThreadPool(3));
  EXPECT_EQ(serial.queries, 40);
  EXPECT_EQ(serial.mean, parallel.mean);
  EXPECT_EQ(serial.least, parallel.least);
}

}  // namespace
}  // namespace longspan::spectra
