#include "longspan/spectra/mixing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graphs.h"
#include "longspan/base/check.h"

namespace longspan::spectra {
namespace {

TEST(Mixing, BoundIsThatOfTheSpecification) {
  // ||A^t v - u||_1 <= sqrt(n) beta^t, twice the total variation distance.
  EXPECT_DOUBLE_EQ(2 * mixing_bound(0.5, 1.0 / 64, 3), 8 * 0.125);
  // t(delta) = ceil(ln(sqrt n / delta) / ln(1 / beta)) for a 1-norm of delta.
  for (const double beta : {0.25, 0.9, 0.9967})
    for (const double delta : {0.1, 0.001})
      EXPECT_EQ(mixing_time_bound(beta, 1.0 / 1024, delta / 2),
                static_cast<int64_t>(std::ceil(std::log(32 / delta) / std::log(1 / beta))));
  EXPECT_EQ(mixing_time_bound(1, 0.1, 0.01), std::nullopt);
  EXPECT_EQ(mixing_time_bound(0, 0.1, 0.01), 1);
  EXPECT_EQ(mixing_time_bound(0.5, 1, 0.5), 0);
}

TEST(Mixing, WalkOnTwoTokensByHand) {
  // Loops on: one step is enough. A path of three without loops: the middle and the ends alternate.
  EXPECT_EQ(measure_walk(Topology(pattern_of("full", 2)), 0, {}).distance, (std::vector<double>{0.5, 0}));
  const Topology path(pattern_of_pairs(3, {{0, 1}, {1, 2}}));
  EXPECT_EQ(stationary_law(path), (std::vector<double>{0.25, 0.5, 0.25}));
  const Walk walk = measure_walk(path, 0, {.most_steps = 2});
  EXPECT_EQ(walk.distance, (std::vector<double>{0.75, 0.5, 0.5}));
  EXPECT_EQ(walk.mixing_time, std::nullopt);
}

TEST(Mixing, MeasuredStaysBelowTheBound) {
  const std::vector<patterns::Pattern> graphs = {
      circulant(60, {1, 7, 53, 59}), circulant(61, {0, 1, 60}), pattern_of("full", 40),
      pattern_of("window_overlap+global+random", 300, {{"w", int64_t{16}}, {"r", int64_t{3}}, {"g", int64_t{2}}})};
  for (const patterns::Pattern& pattern : graphs) {
    const Topology topology(pattern);
    const auto extremes = spectral_extremes(topology);
    const Mixing mixing = measure_mixing(topology, *extremes);
    ASSERT_LE(mixing.least_share, 1.0 / static_cast<double>(topology.size()));
    // Beta may be off by a residual, which counts in every step; sums of n terms round.
    const double beta = extremes->beta + extremes->second.residual + extremes->largest.residual;
    for (const Walk* walk : {&mixing.worst, &mixing.typical})
      for (std::size_t t = 0; t < walk->distance.size(); ++t)
        EXPECT_LE(walk->distance[t], mixing_bound(beta, mixing.least_share, static_cast<int64_t>(t)) + 1e-13);
    if (mixing.bound && mixing.worst.mixing_time) {
      EXPECT_LE(*mixing.worst.mixing_time, *mixing.bound);
    }
  }
}

TEST(Mixing, NoVertexIsWorseThanTheWorst) {
  const Topology topology(pattern_of("window_band", 40, {{"k", int64_t{3}}}));
  const MixingOptions options = {.delta = 1e-3, .most_steps = 4000};
  const Mixing mixing = measure_mixing(topology, *spectral_extremes(topology), options);
  const std::size_t late = mixing.worst.distance.size() - 1;
  for (int64_t start = 0; start < 40; ++start) {
    const Walk walk = measure_walk(topology, start, options);
    if (walk.distance.size() > late) {  // the others were mixed sooner
      EXPECT_LE(walk.distance[late], mixing.worst.distance[late] * (1 + 1e-6));
    }
    EXPECT_LE(*walk.mixing_time, *mixing.worst.mixing_time);
  }
  EXPECT_LT(*mixing.typical.mixing_time, *mixing.worst.mixing_time);
}

TEST(Mixing, GraphsThatDoNotMix) {
  const Topology parts(pattern_of_pairs(5, {{0, 1}, {0, 0}, {2, 3}, {2, 2}}));
  const Mixing mixing = measure_mixing(parts, *spectral_extremes(parts), {.most_steps = 50});
  EXPECT_EQ(mixing.bound, std::nullopt);
  EXPECT_EQ(mixing.worst.start, 4) << "no neighbours at all";
  EXPECT_EQ(mixing.worst.distance, std::vector<double>(51, 1)) << "it cannot leave";
  EXPECT_EQ(mixing.typical.mixing_time, std::nullopt);
  EXPECT_THROW(measure_walk(parts, 5, {}), InputError);
}

}  // namespace
}  // namespace longspan::spectra
