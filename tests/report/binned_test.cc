#include "longspan/report/binned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace longspan::report {
namespace {

TEST(Binned, KeepsEverySampleWhileThereIsRoom) {
  Binned binned(4);
  for (int i = 0; i < 4; ++i) binned.add(i, 10 * i);
  ASSERT_EQ(binned.bins().size(), 4u);
  EXPECT_EQ(binned.samples_per_bin(), 1);
  EXPECT_EQ(binned.bins()[2].x, 2);
  EXPECT_EQ(binned.bins()[2].mean, 20);
  EXPECT_EQ(binned.bins()[2].deviation(), 0);
}

TEST(Binned, BinsAreMeansOfEquallyManyNeighbours) {
  constexpr int kSamples = 1003;
  Binned binned(8);
  const auto value = [](int i) { return (i % 7) * 0.25 + i; };
  for (int i = 0; i < kSamples; ++i) binned.add(i, value(i));
  const auto& bins = binned.bins();
  ASSERT_LE(bins.size(), 8u);
  EXPECT_EQ(binned.samples_per_bin(), 128);
  int first = 0;
  for (const auto& bin : bins) {
    const int last = std::min<int>(first + 128, kSamples);
    ASSERT_EQ(bin.count, last - first);
    double x = 0, mean = 0, squares = 0;
    for (int i = first; i < last; ++i) {
      x += i / static_cast<double>(bin.count);
      mean += value(i) / static_cast<double>(bin.count);
    }
    for (int i = first; i < last; ++i) squares += (value(i) - mean) * (value(i) - mean);
    // Each of the count updates rounds a few times; the values are below 1100.
    const double bound = 8 * 128 * 1100 * std::numeric_limits<double>::epsilon();
    EXPECT_NEAR(bin.x, x, bound);
    EXPECT_NEAR(bin.mean, mean, bound);
    EXPECT_NEAR(bin.deviation(), std::sqrt(squares / static_cast<double>(bin.count - 1)), 1100 * bound);
    first = last;
  }
  EXPECT_EQ(first, kSamples);
}

TEST(Binned, LeavesOutWhatIsNotFinite) {
  Binned binned;
  binned.add(1, std::nan(""));
  binned.add(2, INFINITY);
  binned.add(3, 5);
  ASSERT_EQ(binned.bins().size(), 1u);
  EXPECT_EQ(binned.bins()[0].mean, 5);
}

TEST(Binned, SpreadIsOneDeviationAndOnlyWhereThereIsOne) {
  Binned binned(2);
  for (const double value : {1.0, 3.0, 10.0}) binned.add(value, value);
  const Series series = series_of("loss", binned);
  ASSERT_EQ(series.points.size(), 2u);
  EXPECT_EQ(series.points[0], (std::pair<double, double>(2, 2)));
  ASSERT_EQ(series.band.size(), 1u) << "the last bin holds one sample";
  EXPECT_DOUBLE_EQ(series.band[0].low, 2 - std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(series.band[0].high, 2 + std::sqrt(2.0));
}

}  // namespace
}  // namespace longspan::report
