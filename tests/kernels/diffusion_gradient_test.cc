// The derivative of diffusion: central differences, modes that must agree, what dropout does on average, padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/diffusion_case.h"
#include "tests/kernels/diffusion_patterns.h"

namespace longspan::testing {
namespace {

using Case = DiffusionCase<double>;

DiffusionShape small_shape() {
  DiffusionShape shape;
  shape.patterns = {pattern_of("window_band+global+random", 20,
                               {{"k", 2}, {"g", 2}, {"r", 2}, {"global_choice", "list"}, {"global_tokens", "3,9"}})};
  shape.heads = 2;
  shape.key_heads = 1;
  shape.width = 3;
  shape.value_width = 2;
  return shape;
}

double objective(Case& x) {
  x.forward();
  double sum = 0;
  for (std::size_t i = 0; i < x.out.data.size(); ++i) sum += x.dout.data[i] * x.out.data[i];
  return sum;
}

// The objective is smooth with derivatives of order one, so the difference quotient is wrong by h^2 and by the roundoff
// of a sum of 80 numbers divided by h.
void expect_differences(const char* name, Case& x, std::vector<double>& operand, const std::vector<double>& gradient) {
  constexpr double h = 1e-5, bound = 1e-8;
  ASSERT_EQ(operand.size(), gradient.size()) << name;
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const double value = operand[i];
    operand[i] = value + h;
    const double above = objective(x);
    operand[i] = value - h;
    const double below = objective(x);
    operand[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * h), bound) << name << " " << i;
  }
}

TEST(DiffusionGradient, CentralDifferences) {
  for (const double dropout : {0.0, 0.3})
    for (const bool per_hop : {false, true}) {
      DiffusionShape shape = small_shape();
      shape.attention_dropout = shape.hop_dropout = dropout;
      shape.dropout_per_hop = per_hop;
      Case x(shape);
      x.forward();
      x.backward();
      expect_differences("q", x, x.q.data, x.dq.data);
      expect_differences("k", x, x.k.data, x.dk.data);
      expect_differences("v", x, x.v.data, x.dv.data);
      expect_differences("coefficients", x, x.coefficients, x.dcoefficients);
    }
}

TEST(DiffusionGradient, ModesAgree) {
  DiffusionShape shape = small_shape();
  shape.hops = 5;
  shape.hop_dropout = shape.attention_dropout = 0.1;
  Case wanted(shape);
  wanted.forward();
  wanted.backward();
  for (const auto edge_weights : {kernels::EdgeWeights::stored, kernels::EdgeWeights::recomputed})
    for (const auto backward :
         {kernels::DiffusionBackwardStates::recompute_slices, kernels::DiffusionBackwardStates::store_all,
          kernels::DiffusionBackwardStates::recompute_quadratic}) {
      shape.edge_weights = edge_weights;
      shape.backward = backward;
      Case x(shape);
      x.forward();
      x.backward();
      const auto expect_close = [](const char* name, const std::vector<double>& a, const std::vector<double>& b) {
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-13) << name << " " << i;
      };
      expect_close("out", x.out.data, wanted.out.data);
      expect_close("dq", x.dq.data, wanted.dq.data);
      expect_close("dk", x.dk.data, wanted.dk.data);
      expect_close("dv", x.dv.data, wanted.dv.data);
      expect_close("dcoefficients", x.dcoefficients, wanted.dcoefficients);
    }
}

// Scores near +1000 and -1000 together, in float32: an exponential of a score less its row's log-sum-exp would lose the
// digits of the latter, and dS times operands of a thousand would show it.
TEST(DiffusionGradient, WeightsFormedAgainAreTheStoredOnes) {
  DiffusionShape shape;
  shape.patterns = {pattern_of("window_band+global+random", 300, {{"k", 3}, {"g", 2}, {"r", 6}})};
  shape.heads = 2;
  shape.width = 16;
  shape.value_width = 8;
  shape.gain = 1100;
  DiffusionCase<float> wanted(shape);
  float lowest = 0, highest = 0;
  for (int64_t i = 0; i < 300; ++i)
    for (int64_t j = 0; j < 300; ++j) {
      float score = 0;
      for (int64_t c = 0; c < shape.width; ++c) score += wanted.q.row(i, 0)[c] * wanted.k.row(j, 0)[c];
      lowest = std::min(lowest, score / 4);
      highest = std::max(highest, score / 4);
    }
  ASSERT_LT(lowest, -1000);
  ASSERT_GT(highest, 1000);
  wanted.forward();
  wanted.backward();
  shape.edge_weights = kernels::EdgeWeights::recomputed;
  DiffusionCase<float> x(shape);
  x.forward();
  x.backward();
  // Other sums than with stored weights have only the keys', by strips: a few roundings of numbers of their size.
  const auto expect_close = [](const char* name, const std::vector<float>& got, const std::vector<float>& wanted) {
    float largest = 0;
    for (const float value : wanted) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], wanted[i], 32 * std::numeric_limits<float>::epsilon() * largest) << name << " " << i;
  };
  EXPECT_EQ(x.out.data, wanted.out.data);
  expect_close("dq", x.dq.data, wanted.dq.data);
  expect_close("dk", x.dk.data, wanted.dk.data);
  expect_close("dv", x.dv.data, wanted.dv.data);
}

/// Mean of the results over masks, and five standard errors of it.
struct Mean {
  std::vector<double> mean, error;
};
Mean mean_over_masks(DiffusionShape shape) {
  constexpr int kMasks = 4000;
  Mean result;
  std::vector<double> squares;
  Case x(shape);
  for (int mask = 0; mask < kMasks; ++mask) {
    x.shape.dropout_origin = {mask, 0};
    x.forward();
    result.mean.resize(x.out.data.size(), 0.0);
    squares.resize(x.out.data.size(), 0.0);
    for (std::size_t i = 0; i < x.out.data.size(); ++i) {
      result.mean[i] += x.out.data[i] / kMasks;
      squares[i] += x.out.data[i] * x.out.data[i] / kMasks;
    }
  }
  for (std::size_t i = 0; i < squares.size(); ++i)
    result.error.push_back(5 * std::sqrt(std::max(0.0, squares[i] - result.mean[i] * result.mean[i]) / kMasks));
  return result;
}

// Masks of their own leave the mean where it is. One mask for all hops does not: a path that uses a pair twice (every
// loop does) counts 1 / (1 - p) times too much for each time more.
TEST(DiffusionGradient, MasksOfTheirOwnHaveNoBias) {
  DiffusionShape shape;
  shape.patterns = {pattern_of("window_band", 4, {{"k", 1}})};
  shape.width = 1;
  shape.value_width = 1;
  const auto run = [&](double attention, double feature, bool per_hop) {
    DiffusionShape dropped = shape;
    dropped.attention_dropout = attention;
    dropped.hop_dropout = feature;
    dropped.dropout_per_hop = per_hop;
    return mean_over_masks(dropped);
  };
  Case plain(shape);
  plain.forward();
  const std::vector<double>& wanted = plain.out.data;
  for (const Mean& got : {run(0, 0.2, false), run(0.2, 0, true), run(0.2, 0.2, true)})
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got.mean[i], wanted[i], got.error[i]) << i;
  const Mean once = run(0.4, 0, false);
  bool biased = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) biased = biased || std::abs(once.mean[i] - wanted[i]) > once.error[i];
  EXPECT_TRUE(biased);
}

// Tokens taken out by `valid` and tokens that never were give the rest the same results.
TEST(DiffusionGradient, RemovedTokensAreAsIfTheyHadNotBeen) {
  const int64_t n = 30;
  std::vector<std::pair<int64_t, int64_t>> pairs, kept;
  std::vector<bool> valid;
  std::vector<int64_t> rank;
  for (int64_t i = 0, next = 0; i < n; ++i) {
    valid.push_back(i % 4 != 1);
    rank.push_back(next);
    next += i % 4 != 1;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      if (std::abs(i - j) > 3 && (i * 7 + j * 5) % 11 != 0 && j != 4) continue;
      pairs.push_back({i, j});
      if (valid[static_cast<std::size_t>(i)] && valid[static_cast<std::size_t>(j)])
        kept.push_back({rank[static_cast<std::size_t>(i)], rank[static_cast<std::size_t>(j)]});
    }
  DiffusionShape shape;
  shape.patterns = {pattern_of_pairs(n, pairs)};
  shape.valid = valid;
  Case whole(shape);
  shape.patterns = {pattern_of_pairs(rank.back() + 1, kept)};
  shape.valid = {};
  Case part(shape);
  const auto each = [&](const auto& use) {
    for (int64_t i = 0; i < n; ++i)
      if (valid[static_cast<std::size_t>(i)]) use(i, rank[static_cast<std::size_t>(i)]);
  };
  each([&](int64_t i, int64_t r) {
    std::copy_n(whole.q.row(i, 0), shape.width, part.q.row(r, 0));
    std::copy_n(whole.k.row(i, 0), shape.width, part.k.row(r, 0));
    std::copy_n(whole.v.row(i, 0), shape.value_width, part.v.row(r, 0));
    std::copy_n(whole.dout.row(i, 0), shape.value_width, part.dout.row(r, 0));
  });
  for (Case* x : {&whole, &part}) {
    x->forward();
    x->backward();
  }
  // The sums have other orders: of at most 30 numbers of order one, through three hops.
  each([&](int64_t i, int64_t r) {
    for (int64_t c = 0; c < shape.value_width; ++c) {
      EXPECT_NEAR(whole.out.row(i, 0)[c], part.out.row(r, 0)[c], 1e-14);
      EXPECT_NEAR(whole.dv.row(i, 0)[c], part.dv.row(r, 0)[c], 1e-13);
    }
    for (int64_t c = 0; c < shape.width; ++c) {
      EXPECT_NEAR(whole.dq.row(i, 0)[c], part.dq.row(r, 0)[c], 1e-13);
      EXPECT_NEAR(whole.dk.row(i, 0)[c], part.dk.row(r, 0)[c], 1e-13);
    }
  });
}

}  // namespace
}  // namespace longspan::testing
