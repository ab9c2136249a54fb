// Spectra that are known in closed form (specification B.10).
#include "longspan/spectra/full.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graphs.h"
#include "longspan/base/check.h"
#include "longspan/testing/compare.h"

namespace longspan::spectra {
namespace {

/// A symmetric solver's eigenvalues are within a few n u of those of a matrix of norm 2, which is formed with three
/// roundings of each entry.
void expect_spectrum(const Topology& topology, std::vector<double> expected) {
  std::sort(expected.begin(), expected.end());
  const std::vector<double> actual = full_spectrum(topology);
  ASSERT_EQ(actual.size(), expected.size());
  const double bound = 8 * static_cast<double>(expected.size()) * testing::unit_roundoff<double>();
  const auto same = testing::within(actual.data(), expected.data(), static_cast<int64_t>(actual.size()), bound);
  EXPECT_TRUE(same) << same.message;
}

std::vector<double> circulant_spectrum(int64_t n, const std::vector<int64_t>& offsets) {
  std::vector<double> out;
  for (int64_t k = 0; k < n; ++k) {
    double mean = 0;
    for (const int64_t o : offsets)
      mean += std::cos(2 * std::numbers::pi * static_cast<double>(k * o % n) / static_cast<double>(n)) /
              static_cast<double>(offsets.size());
    out.push_back(1 - mean);
  }
  return out;
}

TEST(FullSpectrum, CompleteGraph) {
  const int64_t n = 12;
  std::vector<double> expected(12, 1);
  expected[0] = 0;
  expect_spectrum(Topology(pattern_of("full", n)), expected);
  std::fill(expected.begin() + 1, expected.end(), 12.0 / 11);
  expect_spectrum(Topology(pattern_of("full", n), SelfLoops::off), expected);
  // Either half of the pairs is the same graph.
  expect_spectrum(Topology(pattern_of("full", n, {{"causal", true}}), SelfLoops::off), expected);
}

TEST(FullSpectrum, CycleStarAndCirculant) {
  for (const int64_t n : {5, 16, 31}) {
    expect_spectrum(Topology(circulant(n, {1})), circulant_spectrum(n, {1}));
    expect_spectrum(Topology(circulant(n, {1, 4, n - 1, n - 4})), circulant_spectrum(n, {1, 4}));
    std::vector<double> of_star(static_cast<std::size_t>(n), 1);
    of_star.front() = 0;
    of_star.back() = 2;
    expect_spectrum(Topology(star(n)), of_star);
  }
}

TEST(FullSpectrum, ComponentsHaveAZeroEach) {
  // Two pairs and a vertex without neighbours, whose row of the Laplacian is 0.
  expect_spectrum(Topology(pattern_of_pairs(5, {{0, 1}, {3, 2}})), {0, 0, 0, 2, 2});
  expect_spectrum(Topology(pattern_of("window_block", 8, {{"b", int64_t{4}}})), {0, 0, 1, 1, 1, 1, 1, 1});
}

TEST(FullSpectrum, NothingAndOneToken) {
  EXPECT_TRUE(full_spectrum(Topology(pattern_of("full", 0))).empty());
  expect_spectrum(Topology(pattern_of("full", 1)), {0});
  expect_spectrum(Topology(pattern_of("full", 1), SelfLoops::off), {0});
}

TEST(FullSpectrum, RefusesWhatDoesNotFit) {
  EXPECT_THROW(full_spectrum(Topology(pattern_of("full", 100)), SerialParallel(), 159999), InputError);
  EXPECT_NO_THROW(full_spectrum(Topology(pattern_of("full", 100)), SerialParallel(), 160000));
}

}  // namespace
}  // namespace longspan::spectra
