// What the recurrence means: identities, its gradient by differences, and its accuracy over long streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "delta_support.h"
#include "longspan/base/aligned.h"

namespace longspan::kernels::delta_test {
namespace {

constexpr DeltaDecay kDecays[] = {DeltaDecay::none, DeltaDecay::scalar, DeltaDecay::slot};

class DeltaDefinition : public ::testing::Test {
 protected:
  SerialParallel serial_;
};

TEST_F(DeltaDefinition, BetaOfZeroLeavesTheState) {
  for (const bool delta : {true, false}) {
    Problem<float> problem({.rows = {40}, .delta = delta, .decay = DeltaDecay::none, .initial = true});
    std::fill(problem.beta.storage.begin(), problem.beta.storage.end(), 0.f);
    problem.forward(serial_);
    EXPECT_EQ(problem.last, problem.state.memory);
  }
}

// Small integers: every sum is exact.
TEST_F(DeltaDefinition, WithoutDecayAndDeltaItIsLinearAttention) {
  const int64_t n = 45, r = 4, d = 3;
  Problem<float> problem({.rows = {n}, .slots = r, .width = d, .delta = false, .decay = DeltaDecay::none});
  for (auto* x : {&problem.q, &problem.k, &problem.v})
    for (float& y : x->storage) y = std::round(3 * y);
  std::fill(problem.beta.storage.begin(), problem.beta.storage.end(), 1.f);
  problem.forward(serial_);
  for (int64_t t = 0; t < n; ++t)
    for (int64_t c = 0; c < d; ++c) {
      float expected = 0;
      for (int64_t j = 0; j <= t; ++j) {
        float score = 0;
        for (int64_t i = 0; i < r; ++i) score += problem.q.row(0, 0, t)[i] * problem.k.row(0, 0, j)[i];
        expected += score * problem.v.row(0, 0, j)[c];
      }
      ASSERT_EQ(problem.out.row(0, 0, t)[c], expected) << t;
    }
}

// Writing one slot after the other, each read gives the value written last for its key.
TEST_F(DeltaDefinition, OrthonormalKeysReadBackExactly) {
  const int64_t slots = 24;
  Problem<float> problem(
      {.rows = {100}, .slots = slots, .width = 9, .decay = DeltaDecay::none, .keys = Keys::orthonormal});
  std::fill(problem.beta.storage.begin(), problem.beta.storage.end(), 1.f);
  for (float& x : problem.v.storage) x = std::round(64 * x);  // so that v - (v_old) + v_old is exact
  const int64_t back = 5;
  for (int64_t t = back; t < 100; ++t) std::copy_n(problem.k.row(0, 0, t - back), slots, problem.q.row(0, 0, t));
  problem.forward(serial_);
  for (int64_t t = back; t < 100; ++t)
    for (int64_t c = 0; c < 9; ++c) ASSERT_EQ(problem.out.row(0, 0, t)[c], problem.v.row(0, 0, t - back)[c]) << t;
}

TEST_F(DeltaDefinition, TheReferencesGradientIsTheDifferenceQuotient) {
  for (const bool delta : {true, false})
    for (const DeltaDecay decay : kDecays) {
      Problem<double> problem(
          {.rows = {6}, .slots = 3, .width = 4, .delta = delta, .decay = decay, .slowest = 2, .initial = true});
      testing::DeltaCase c = problem.reference_case(0, 0);
      const std::vector<double> dout = problem.rows_of(problem.dout, 0, 0);
      const testing::DeltaGradient g = testing::delta_reference_backward(c, dout, problem.dlast);
      const auto loss = [&] {
        const testing::DeltaResult result = testing::delta_reference(c);
        double sum = 0;
        for (std::size_t i = 0; i < dout.size(); ++i) sum += result.out[i] * dout[i];
        for (std::size_t i = 0; i < result.state.size(); ++i) sum += result.state[i] * problem.dlast[i];
        return sum;
      };
      // Error of a central difference: third derivatives h^2 / 6 and rounding u |loss| / h; both below 1e-8 at h = 1e-5
      // for a loss and derivatives below 100.
      const double h = 1e-5;
      const auto check = [&](std::vector<double>& x, const std::vector<double>& gradient, const char* what) {
        ASSERT_EQ(x.size(), gradient.size()) << what;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double before = x[i];
          x[i] = before + h;
          const double above = loss();
          x[i] = before - h;
          const double below = loss();
          x[i] = before;
          EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-8) << what << " " << i;
        }
      };
      check(c.q, g.q, "q"), check(c.k, g.k, "k"), check(c.v, g.v, "v"), check(c.beta, g.beta, "beta");
      check(c.log_alpha, g.log_alpha, "log_alpha"), check(c.state, g.state, "state");
    }
}

/// Largest difference from the reference, relative to the largest output.
template <class S>
double relative_error(Problem<S>& problem, const Parallel& parallel) {
  problem.forward(parallel);
  const std::vector<double> expected = testing::delta_reference(problem.reference_case(0, 0)).out;
  const std::vector<double> actual = problem.rows_of(problem.out, 0, 0);
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    error = std::max(error, std::abs(actual[i] - expected[i]));
  }
  return error / largest;
}

// The figures of a trial of the chunked form (docs/ops/delta_memory.md), n = 4096 and R = D = 32.
TEST_F(DeltaDefinition, ErrorOverManyChunksStaysWhatAChunkMakes) {
  const auto shape = [](DeltaDecay decay, Keys keys, double beta) {
    return Shape{.rows = {4096}, .slots = 32, .width = 32, .decay = decay, .keys = keys, .largest_beta = beta};
  };
  for (const Keys keys : {Keys::random, Keys::repeated}) {
    Problem<float> scalar(shape(DeltaDecay::scalar, keys, 1)), slot(shape(DeltaDecay::slot, keys, 1));
    EXPECT_LE(relative_error(scalar, serial_), 2.1e-6);
    EXPECT_LE(relative_error(slot, serial_), 2.1e-6);
    Problem<float> over(shape(DeltaDecay::scalar, keys, 1.999));
    EXPECT_LE(relative_error(over, serial_), 6.2e-6);
    Problem<double> wide(shape(DeltaDecay::scalar, keys, 1));
    EXPECT_LE(relative_error(wide, serial_), 8.3e-15);
  }
}

TEST_F(DeltaDefinition, AMillionTokensDoNotDrift) {
  for (const double slowest : {0.001, 0.2}) {
    Problem<float> problem({.rows = {1 << 20}, .slots = 4, .width = 4, .slowest = slowest});
    EXPECT_LE(relative_error(problem, serial_), 1e-5) << slowest;
  }
}

}  // namespace
}  // namespace longspan::kernels::delta_test
