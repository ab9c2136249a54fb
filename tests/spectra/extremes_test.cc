// Lanczos against the dense solver, closed forms and the table of specification B.10.
#include "longspan/spectra/extremes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graphs.h"
#include "longspan/base/check.h"
#include "longspan/spectra/full.h"
#include "longspan/spectra/laplacian.h"

namespace longspan::spectra {
namespace {

/// An eigenvalue lies within the residual; the dense solver's and the product's own rounding come on top.
void expect_same(const Extreme& found, double expected, const std::string& what) {
  EXPECT_TRUE(found.converged) << what;
  EXPECT_NEAR(found.value, expected, found.residual + 1e-12) << what;
}

TEST(Extremes, LanczosAgreesWithTheDenseSolver) {
  struct Case {
    std::string name;
    FieldValues values;
  };
  const std::vector<Case> cases = {
      {"window_overlap", {{"w", int64_t{16}}}},
      {"window_overlap+random", {{"w", int64_t{16}}, {"r", int64_t{4}}}},
      {"window_band+global", {{"k", int64_t{4}}, {"g", int64_t{2}}}},
      {"bigbird", {{"b", int64_t{16}}}},
      {"fixed", {{"l", int64_t{32}}, {"causal", true}}},
      {"uniform", {{"uniform_r", int64_t{8}}}},
  };
  for (const Case& c : cases)
    for (const int64_t n : {3, 7, 50, 300}) {
      const Topology topology(pattern_of(c.name, n, c.values));
      const std::vector<double> all = full_spectrum(topology);
      const auto found = spectral_extremes(topology);
      ASSERT_TRUE(found);
      const std::string what = c.name + ", " + std::to_string(n) + " tokens";
      expect_same(found->second, all[1], what);
      expect_same(found->largest, all.back(), what);
      EXPECT_NEAR(found->beta, extremes_of(all).beta, found->second.residual + found->largest.residual + 1e-12);
    }
}

TEST(Extremes, ResidualIsThatOfTheVector) {
  const Topology topology(pattern_of("window_overlap+random", 400, {{"w", int64_t{16}}, {"r", int64_t{3}}}));
  const auto found = spectral_extremes(topology);
  const SerialParallel serial;
  NormalisedAdjacency adjacency(topology, serial);
  for (const Extreme* extreme : {&found->second, &found->largest}) {
    std::vector<double> product(400);
    adjacency.apply(extreme->vector.data(), product.data());
    double squares = 0, norm = 0;
    for (std::size_t i = 0; i < 400; ++i) {
      const double v = extreme->vector[i], away = v - product[i] - extreme->value * v;
      squares += away * away;
      norm += v * v;
    }
    EXPECT_NEAR(norm, 1, 1e-12);
    EXPECT_NEAR(std::sqrt(squares), extreme->residual, 1e-12);
    EXPECT_LE(extreme->residual, 1e-4 * extreme->value);
  }
}

TEST(Extremes, CyclesWhoseEigenvaluesCrowdTogether) {
  const int64_t n = 4001;
  const auto found = spectral_extremes(Topology(circulant(n, {1})));
  ASSERT_TRUE(found);
  const double first = 1 - std::cos(2 * std::numbers::pi / n), last = 1 + std::cos(std::numbers::pi / n);
  EXPECT_TRUE(found->second.converged);
  EXPECT_NEAR(found->second.value, first, found->second.residual + 1e-15);
  EXPECT_LE(found->second.residual, 1e-4 * first) << "1.2e-6, known to four digits at least";
  EXPECT_NEAR(found->largest.value, last, found->largest.residual + 1e-15);
}

/// n = 1024, loops on. Without random parts the printed digits; with them the spread of specification B.10.
TEST(Extremes, TableOfTheSpecification) {
  struct Row {
    std::string name;
    FieldValues values;
    double density, second, largest, beta, spread;
  };
  const FieldValues w = {{"w", int64_t{64}}};
  const auto with = [](FieldValues values, const std::string& field, int64_t value) {
    values[field] = value;
    return values;
  };
  const std::vector<Row> rows = {
      {"window_overlap", w, .0918, .00335, 1.330, .9967, 0},
      {"window_overlap+random", with(w, "r", 16), .1074, .275, 1.250, .725, .01},
      {"window_overlap+uniform", with(w, "uniform_r", 16), .1072, .273, 1.259, .727, 0},
      {"window_overlap+global", with(w, "g", 16), .1199, .151, 1.283, .849, .01},
      {"window_overlap+global+random", with(with(w, "r", 16), "g", 16), .1351, .359, 1.223, .641, .01},
      {"random", {{"r", int64_t{32}}}, .0322, .746, 1.226, .254, .01},
      {"uniform", {{"uniform_r", int64_t{32}}}, .0322, .0066, 1.216, .993, 0},
      // 32 rows of blocks draw 84 random ones in all: over seeds 0 to 29 lambda_2 is .529 with a standard deviation of
      // .023 (lambda_max .020); three of them.
      {"bigbird", {{"b", int64_t{32}}, {"bigbird_r", int64_t{3}}}, .2949, .535, 1.317, .465, .07},
  };
  for (const Row& row : rows) {
    const patterns::Pattern pattern = pattern_of(row.name, 1024, row.values);
    const auto found = spectral_extremes(Topology(pattern));
    EXPECT_NEAR(pattern.density(), row.density, 5e-4) << row.name;
    EXPECT_TRUE(found->second.converged && found->largest.converged) << row.name;
    const auto digits = [](double printed) { return printed < .01 ? 6e-5 : 6e-4; };
    EXPECT_NEAR(found->largest.value, row.largest, std::max(row.spread, 6e-4)) << row.name;
    EXPECT_NEAR(found->second.value, row.second, std::max(row.spread, digits(row.second))) << row.name;
    EXPECT_NEAR(found->beta, row.beta, std::max(row.spread, 6e-4)) << row.name;
  }
}

TEST(Extremes, SmallAndDisconnectedGraphs) {
  EXPECT_FALSE(spectral_extremes(Topology(pattern_of("full", 0))));
  EXPECT_FALSE(spectral_extremes(Topology(pattern_of("full", 1))));
  const auto pair = spectral_extremes(Topology(pattern_of("full", 2), SelfLoops::off));
  EXPECT_NEAR(pair->second.value, 2, 1e-14);
  EXPECT_NEAR(pair->beta, 1, 1e-14);
  const auto parts = spectral_extremes(Topology(pattern_of("window_block", 64, {{"b", int64_t{16}}})));
  EXPECT_EQ(parts->second.value, 0);
  EXPECT_EQ(parts->beta, 1);
  EXPECT_NEAR(parts->largest.value, 1, 1e-12);
  const auto complete = spectral_extremes(Topology(pattern_of("full", 200), SelfLoops::off));
  EXPECT_NEAR(complete->second.value, 200.0 / 199, 1e-12) << "mu_2 below 0";
}

TEST(Extremes, SaysWhenItDidNotConverge) {
  ExtremesOptions options;
  options.most_products = 100;
  const auto found = spectral_extremes(Topology(pattern_of("window_overlap", 8192)), options);
  EXPECT_FALSE(found->second.converged);
  EXPECT_GT(found->second.residual, 1e-6 * found->second.value);
}

TEST(Extremes, MemoryAndProgress) {
  ExtremesOptions options;
  options.memory_limit = 1000;
  EXPECT_THROW(spectral_extremes(Topology(pattern_of("window_overlap", 5000)), options), InputError);

  struct Stop final : Progress {
    void message(std::string_view) override {}
    void report(const ProgressReport& report) override {
      EXPECT_EQ(report.activity, "lanczos");
      throw RunError("enough");
    }
  } stop;
  EXPECT_THROW(spectral_extremes(Topology(pattern_of("window_overlap", 500)), {}, SerialParallel(), &stop), RunError);
}

}  // namespace
}  // namespace longspan::spectra
