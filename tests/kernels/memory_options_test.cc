// The options of the memory kernels against the float64 reference: windows, groups of heads, accumulators, dropout and
// storage in bfloat16.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/check.h"
#include "memory_support.h"

namespace longspan::kernels::memory_test {
namespace {

constexpr Dropout kSome{0.3, 0x123456789abcdefu};

/// The types of q and m in memory.
template <class Q, class M>
struct Storage {
  using q = Q;
  using m = M;
};

template <class S>
class MemoryOptions : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
  SerialParallel serial_;
};
using Types = ::testing::Types<Storage<float, float>, Storage<double, double>, Storage<BFloat16, BFloat16>,
                               Storage<BFloat16, float>>;
TYPED_TEST_SUITE(MemoryOptions, Types);

template <class S>
void check(const Shape& shape, const Parallel& parallel) {
  Problem<typename S::q, typename S::m> problem(shape);
  expect_matches_reference(problem, parallel, true);
}

TYPED_TEST(MemoryOptions, Windows) {
  for (const int64_t window : {1, 2, 7, 16, 100, 256, 300, 600})
    for (const int64_t count : {0, 100, 256, 300})
      for (const int64_t n : {0, 1, 5, 56, 70, 300, 700})
        check<TypeParam>({.queries = {n}, .slots = 5, .width = 6, .window = window, .count = count}, this->serial_);
}

TYPED_TEST(MemoryOptions, WindowsInParallelAlongTheLength) {
  const ThreadPool pool(3);
  for (const int64_t window : {3, 250, 256, 700, 4000})
    for (const int64_t count : {0, 77}) {
      check<TypeParam>({.queries = {5000}, .slots = 3, .width = 4, .window = window, .count = count}, pool);
      check<TypeParam>({.queries = {4, 2100, 0, 3000, 9},
                        .heads = 2,
                        .slots = 3,
                        .width = 4,
                        .feature_heads = 1,
                        .window = window,
                        .packed = true,
                        .count = count},
                       pool);
    }
}

TYPED_TEST(MemoryOptions, GroupsOfHeads) {
  for (const int64_t features : {1, 2, 3, 6})
    for (const bool shared : {false, true}) {
      Shape shape{.heads = 6, .slots = 5, .width = 7, .feature_heads = features, .shared_basis = shared};
      for (const Layout layout : {Layout::dense, Layout::interleaved, Layout::misaligned}) {
        shape.layout = layout;
        shape.causal = true;
        shape.queries = shape.sources = {19, 19};
        check<TypeParam>(shape, this->serial_);
        shape.causal = false;
        shape.sources = {30, 30};
        check<TypeParam>(shape, this->serial_);
      }
    }
}

TYPED_TEST(MemoryOptions, GroupsOfHeadsInParallelAlongTheLength) {
  const ThreadPool pool(3);
  check<TypeParam>({.queries = {2500}, .heads = 2, .slots = 3, .width = 4, .feature_heads = 1, .count = 77}, pool);
}

TYPED_TEST(MemoryOptions, Accumulators) {
  for (const Accumulator accumulator : {Accumulator::float32, Accumulator::float32_compensated}) {
    Shape shape{.heads = 2, .slots = 9, .width = 13, .accumulator = accumulator};
    for (const int64_t n : {0, 1, 40, 600})
      for (const int64_t count : {0, 100, 511})
        for (const int64_t window : {0, 50}) {
          shape.queries = {n};
          shape.count = count;
          shape.window = window;
          check<TypeParam>(shape, this->serial_);
        }
    shape.causal = false;
    shape.window = shape.count = 0;
    for (const int64_t sources : {0, 1, 700}) {
      shape.queries = {20};
      shape.sources = {sources};
      check<TypeParam>(shape, this->serial_);
    }
  }
}

TYPED_TEST(MemoryOptions, AccumulatorsInParallelAlongTheLength) {
  const ThreadPool pool(3);
  for (const Accumulator accumulator : {Accumulator::float32, Accumulator::float32_compensated})
    check<TypeParam>({.queries = {3000},
                      .heads = 2,
                      .slots = 9,
                      .width = 13,
                      .window = 50,
                      .accumulator = accumulator,
                      .count = 511},
                     pool);
}

TYPED_TEST(MemoryOptions, SlotDropout) {
  for (const int64_t slots : {1, 3, 4, 5, 16, 33, 64, 70})
    for (const bool causal : {true, false}) {
      check<TypeParam>(
          {.queries = {37, 37}, .heads = 3, .slots = slots, .width = 6, .causal = causal, .dropout = kSome},
          this->serial_);
    }
  check<TypeParam>({.queries = {300}, .slots = 6, .width = 6, .window = 40, .dropout = kSome, .count = 77},
                   this->serial_);
  check<TypeParam>({.queries = {3, 0, 300, 1},
                    .heads = 2,
                    .slots = 6,
                    .width = 8,
                    .feature_heads = 1,
                    .dropout = kSome,
                    .packed = true},
                   this->serial_);
}

TYPED_TEST(MemoryOptions, StorageInEveryWidthAndLayout) {
  for (int64_t d = 1; d <= 40; ++d)
    check<TypeParam>(
        {.queries = {21}, .slots = d % 7 + 1, .width = d, .causal = d % 2 == 0, .layout = Layout::misaligned},
        this->serial_);
  for (const int64_t d : {64, 80, 96, 128, 200, 256})
    check<TypeParam>({.queries = {37}, .slots = d, .width = d, .layout = Layout::interleaved}, this->serial_);
}

/// The text of the InputError of a call over three rows, changed by `change`.
template <class Params, class Call, class Change>
std::string input_error(const Call& call, const Change& change) {
  std::vector<float> rows(2 * 3 * 2, 0.0f);
  Params p;
  p.sequences = 1, p.heads = 2, p.slots = p.width = 2;
  p.queries.rows = p.sources.rows = 3;
  p.q = p.m = {rows.data(), 0, 0, 2};
  p.basis = rows.data();
  change(p);
  try {
    call(p, SerialParallel());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(MemoryRules, BadSizesAreNamed) {
  const auto expect = [](const std::string& message, const auto& change) {
    const auto forward = [](const auto& p, const Parallel& parallel) { memory_forward(p, parallel); };
    const auto backward = [](const auto& p, const Parallel& parallel) { memory_backward(p, parallel); };
    EXPECT_EQ(input_error<MemoryForward<float>>(forward, change), "orthogonal memory: " + message);
    EXPECT_EQ(input_error<MemoryBackward<float>>(backward, change), "orthogonal memory: " + message);
  };
  expect("feature_heads must divide 2 heads, got 3", [](auto& p) { p.feature_heads = 3; });
  expect("slots must be at least 1, got 0", [](auto& p) { p.slots = 0; });
  expect("width must be at least 1, got 0", [](auto& p) { p.width = 0; });
  expect("window must not be negative, got -4", [](auto& p) { p.window = -4; });
  expect("window must be 0 in the full form, got 4", [](auto& p) { p.causal = false, p.window = 4; });
  expect("dropout must be in [0, 1), got 1", [](auto& p) { p.dropout.probability = 1; });
  expect("sources of sequence 0 must be as many as its queries, got 2", [](auto& p) { p.sources.rows = 2; });
  const int64_t negative = -1, last = std::numeric_limits<int64_t>::max();
  expect("count of sequence 0 must not be negative, got -1", [&](auto& p) { p.state.count = &negative; });
  expect("count of sequence 0 must be at most 2^63 - 1 - 3 = 9223372036854775804, got 9223372036854775807",
         [&](auto& p) { p.state.count = &last; });
}

/// Window 1: the memory of t is the mean over j < t, so that of t - 1 without a window.
TEST(MemoryWindow, OneIsTheTokenFormOneTokenLater) {
  const SerialParallel serial;
  Problem<float> token({.queries = {600}, .slots = 5, .width = 7}),
      window({.queries = {600}, .slots = 5, .width = 7, .window = 1});
  for (int64_t t = 0; t < 600; ++t)
    for (int64_t j = 0; j < 7; ++j) token.q.row(0, 0, t)[j] = window.q.row(0, 0, t)[j] = token.q.row(0, 0, 0)[j];
  token.forward(serial);
  window.forward(serial);
  const std::vector<float> first(7, 0.0f);
  EXPECT_TRUE(testing::same_bits(window.out.row(0, 0, 0), first.data(), 7));
  EXPECT_TRUE(testing::same_bits(window.out.row(0, 0, 1), token.out.row(0, 0, 0), 599 * 7));
}

/// Largest relative error of the running mean over a million steps of float32 data of mean 1.
double drift(Accumulator accumulator) {
  constexpr int64_t kSteps = 1000000;
  std::vector<float> m(kSteps);
  for (int64_t t = 0; t < kSteps; ++t) m[t] = static_cast<float>(0.5 + value(kM, 0, 0, t, 0));
  const std::vector<float> out = running_means(m, accumulator);
  double sum = 0, worst = 0;
  for (int64_t t = 0; t < kSteps; ++t) {
    sum += m[t];
    const double mean = sum / static_cast<double>(t + 1);
    worst = std::max(worst, std::abs(out[t] - mean) / std::abs(mean));
  }
  return worst;
}

TEST(MemoryAccumulator, DriftOverAMillionSteps) {
  EXPECT_LE(drift(Accumulator::float64), 2e-7);
  const double compensated = drift(Accumulator::float32_compensated), plain = drift(Accumulator::float32);
  EXPECT_LE(compensated, 1e-6);
  EXPECT_LE(plain, 5e-5);
  EXPECT_GT(plain, compensated);  // it is another accumulator
}

}  // namespace
}  // namespace longspan::kernels::memory_test
