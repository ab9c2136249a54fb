// Diffusion by its definition: golden values, identities, reach.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "longspan/testing/compare.h"
#include "tests/kernels/diffusion_case.h"
#include "tests/kernels/diffusion_patterns.h"

namespace longspan::testing {
namespace {

std::size_t at(int64_t index) { return static_cast<std::size_t>(index); }

/// ppr: the paper's iteration with K hops.
std::vector<double> ppr(int64_t hops, double alpha) {
  std::vector<double> c = {1};
  for (int64_t hop = 0; hop < hops; ++hop) {
    c.push_back(1 - alpha);
    c.push_back(alpha);
  }
  return c;
}

/// One head in float64 with given operands.
struct Definition {
  DiffusionCase<double> x;

  Definition(const patterns::Pattern& pattern, int64_t width, int64_t value_width, const std::vector<double>& c)
      : x([&] {
          DiffusionShape shape;
          shape.patterns = {pattern};
          shape.width = width;
          shape.value_width = value_width;
          shape.hops = (static_cast<int64_t>(c.size()) - 1) / 2;
          return shape;
        }()) {
    x.coefficients = c;
  }
  double out(int64_t i, int64_t c) const { return x.out.row(i, 0)[c]; }
};

/// v = the identity: out is the matrix itself.
std::vector<double> matrix(const patterns::Pattern& pattern, const std::vector<double>& c, double gain = 1) {
  const int64_t n = pattern.size();
  Definition d(pattern, 3, n, c);
  d.x.q.fill_random(4, gain);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) d.x.v.row(i, 0)[j] = i == j;
  d.x.forward();
  return d.x.out.data;
}

patterns::Pattern golden_pattern() {
  std::vector<std::pair<int64_t, int64_t>> pairs = {{0, 5}};
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j)
      if (std::abs(i - j) <= 1 || i == 4 || j == 4) pairs.push_back({i, j});
  return pattern_of_pairs(6, pairs);
}

void expect_golden(const std::vector<double>& c, const std::array<double, 12>& wanted) {
  Definition d(golden_pattern(), 2, 2, c);
  const auto fill = [](DiffusionTensor<double>& x, double a, double b, double e) {
    for (int64_t t = 0; t < 6; ++t)
      for (int64_t i = 0; i < 2; ++i)
        x.row(t, 0)[i] = std::sin(a * static_cast<double>(t) + b * static_cast<double>(i) + e);
  };
  fill(d.x.q, 0.7, 1.3, 0.5);
  fill(d.x.k, 0.3, -0.8, 0.2);
  fill(d.x.v, 1.1, 0.6, -0.4);
  d.x.forward();
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(d.x.out.data[i], wanted[i], 5.1e-11) << i;
}

TEST(DiffusionDefinition, GoldenValues) {
  EXPECT_EQ(golden_pattern().pairs(), 23);
  expect_golden(ppr(3, 0.15), {-.3136248827, -.1750787204, .0512140105, .0755412828, .2086336224, .0669962084,
                               .1140279360, -.1129727358, -.1869014451, -.2255432623, -.4372279809, -.3529859177});
  expect_golden(ppr(5, 0.1), {-.2273297387, -.1531869607, .0036792859, .0080836552, .0978113014, -.0046630271,
                              .0360472219, -.1193049399, -.1540063054, -.1933920528, -.3060602743, -.2662450573});
  // After 400 hops of weight 0.9 what is left of the start is 1e-18.
  expect_golden(ppr(400, 0.1), {-.2058209481, -.1410574282, .0030656482, .0073718540, .0801658916, -.0147866860,
                                .0127178555, -.1319524494, -.1507113954, -.1916756349, -.2844278374, -.2536099968});
  // heat by Horner's rule: theta_k = e^-3 3^k / k!, renormalised.
  std::vector<double> theta(6), heat;
  double term = 1, sum = 0;
  for (std::size_t k = 0; k < theta.size(); ++k) {
    theta[k] = term;
    sum += term;
    term *= 3.0 / static_cast<double>(k + 1);
  }
  heat.push_back(theta[5] / sum);
  for (std::size_t k = 5; k-- > 0;) {
    heat.push_back(1);
    heat.push_back(theta[k] / sum);
  }
  expect_golden(heat, {-.3064524668, -.2207500323, -.0043027110, -.0081335650, .1186516649, -.0062244114, .0957204033,
                       -.0901222705, -.1239320335, -.1411958744, -.3815566957, -.3307634861});
}

TEST(DiffusionDefinition, GoldenWeights) {
  Definition d(golden_pattern(), 2, 6, {1, 1, 0});
  for (int64_t t = 0; t < 6; ++t)
    for (int64_t i = 0; i < 2; ++i) {
      d.x.q.row(t, 0)[i] = std::sin(0.7 * static_cast<double>(t) + 1.3 * static_cast<double>(i) + 0.5);
      d.x.k.row(t, 0)[i] = std::sin(0.3 * static_cast<double>(t) - 0.8 * static_cast<double>(i) + 0.2);
    }
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j) d.x.v.row(i, 0)[j] = i == j;
  d.x.forward();
  const std::array<double, 6> first = {.1179836121, .1561855835, 0, 0, .3352612185, .3905695859};
  const std::array<double, 6> third = {0, .2084245796, .2414317544, .2679281195, .2822155465, 0};
  for (int64_t j = 0; j < 6; ++j) {
    EXPECT_NEAR(d.out(0, j), first[at(j)], 5.1e-11);
    EXPECT_NEAR(d.out(2, j), third[at(j)], 5.1e-11);
  }
}

TEST(DiffusionDefinition, RowsOfThePolynomialSumToOne) {
  const patterns::Pattern pattern = pattern_of("window_overlap+global+random", 60, {{"w", 16}, {"g", 4}, {"r", 5}});
  const std::vector<double> m = matrix(pattern, ppr(5, 0.1), 30);
  for (int64_t i = 0; i < 60; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 60; ++j) {
      EXPECT_GE(m[at(i * 60 + j)], 0);
      sum += m[at(i * 60 + j)];
    }
    EXPECT_NEAR(sum, 1, 1e-14);
  }
}

TEST(DiffusionDefinition, ThreeTokens) {
  const patterns::Pattern chain = pattern_of_pairs(3, {{0, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 2}});
  const std::vector<double> m = matrix(chain, ppr(2, 0.1), 0);
  EXPECT_NEAR(m[0], 0.3475, 1e-15);
  EXPECT_NEAR(m[1], 0.45, 1e-15);
  EXPECT_NEAR(m[2], 0.2025, 1e-15);
}

TEST(DiffusionDefinition, WithoutHopsAndWithAlphaOneTheValues) {
  const patterns::Pattern pattern = pattern_of("window_band", 20, {{"k", 3}});
  for (const auto& c : {ppr(0, 0.1), ppr(3, 1)}) {
    Definition d(pattern, 2, 3, c);
    d.x.forward();
    EXPECT_EQ(d.x.out.data, d.x.v.data);
  }
}

TEST(DiffusionDefinition, ConstantValuesStay) {
  Definition d(pattern_of("window_overlap+random", 90, {{"w", 8}, {"r", 3}}), 2, 3, ppr(5, 0.1));
  for (double& x : d.x.v.data) x = 0.7;
  d.x.forward();
  for (const double x : d.x.out.data) EXPECT_NEAR(x, 0.7, 1e-14);
}

// The error of K hops is at most (1 - alpha)^K of the first, and that much on a cycle, where each row has one key.
TEST(DiffusionDefinition, ConvergesAsFastAsItSays) {
  const patterns::Pattern cycle =
      pattern_of_pairs(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}, {{"self_loops", false}});
  const auto distance = [](const std::vector<double>& a, const std::vector<double>& b) {
    double result = 0;
    for (std::size_t i = 0; i < a.size(); ++i) result = std::max(result, std::abs(a[i] - b[i]));
    return result;
  };
  const auto run = [&](int64_t hops) {
    Definition d(cycle, 2, 1, ppr(hops, 0.1));
    for (int64_t i = 0; i < 5; ++i) d.x.v.row(i, 0)[0] = i == 0;
    d.x.forward();
    return d.x.out.data;
  };
  const std::vector<double> limit = run(400), start = run(0), five = run(5);
  EXPECT_NEAR(distance(five, limit), 0.59049 * distance(start, limit), 1e-14);
}

TEST(DiffusionDefinition, ReachIsTheDistanceInThePattern) {
  const patterns::Pattern band = pattern_of("window_band", 60, {{"k", 2}});
  const std::vector<double> m = matrix(band, ppr(4, 0.1));
  for (int64_t i = 0; i < 60; ++i)
    for (int64_t j = 0; j < 60; ++j) EXPECT_EQ(m[at(i * 60 + j)] != 0, std::abs(i - j) <= 2 * 4) << i << " " << j;
  const std::vector<double> global =
      matrix(pattern_of("window_band+global", 60, {{"k", 1}, {"g", 1}, {"global_choice", "first"}}), ppr(2, 0.1));
  for (const double weight : global) EXPECT_GT(weight, 0);
}

TEST(DiffusionDefinition, CausalIsLowerTriangular) {
  const std::vector<double> m = matrix(
      pattern_of("window_overlap+global+random", 60, {{"w", 8}, {"g", 2}, {"r", 4}, {"causal", true}}), ppr(4, 0.1));
  for (int64_t i = 0; i < 60; ++i)
    for (int64_t j = i + 1; j < 60; ++j) EXPECT_EQ(m[at(i * 60 + j)], 0);
}

// Scores near +1000 and -1000 together: the weights are those of the differences.
TEST(DiffusionDefinition, ScoresFarApart) {
  Definition d(pattern_of("full", 4), 1, 4, {1, 1, 0});
  const std::array<double, 4> keys = {1000, 1000 - std::log(3.0), -1000, -999};
  for (int64_t i = 0; i < 4; ++i) {
    d.x.q.row(i, 0)[0] = i % 2 == 0 ? 1 : -1;
    d.x.k.row(i, 0)[0] = keys[at(i)];
    for (int64_t j = 0; j < 4; ++j) d.x.v.row(i, 0)[j] = i == j;
  }
  d.x.forward();
  // An exponent near 1000 is known to 1000 roundoffs.
  const double bound = 4000 * unit_roundoff<double>();
  EXPECT_NEAR(d.out(0, 0), 0.75, bound);
  EXPECT_NEAR(d.out(0, 1), 0.25, bound);
  EXPECT_EQ(d.out(0, 2), 0);
  EXPECT_NEAR(d.out(1, 2), 1 / (1 + std::exp(-1.0)), bound);
  EXPECT_NEAR(d.x.lse.data[0], 1000 + std::log(4.0 / 3), bound);
}

TEST(DiffusionDefinition, RowsWithoutKeysAreTheSourceAlone) {
  Definition d(pattern_of_pairs(4, {{0, 1}}, {{"self_loops", false}}), 2, 2, ppr(3, 0.1));
  d.x.forward();
  for (int64_t i = 1; i < 4; ++i) {
    EXPECT_EQ(d.x.lse.data[at(i)], -std::numeric_limits<double>::infinity());
    for (int64_t c = 0; c < 2; ++c) EXPECT_DOUBLE_EQ(d.out(i, c), 0.1 * d.x.v.row(i, 0)[c]);
  }
}

}  // namespace
}  // namespace longspan::testing
