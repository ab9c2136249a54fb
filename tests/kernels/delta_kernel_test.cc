// The delta memory kernels against the float64 reference.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "delta_support.h"
#include "longspan/base/aligned.h"
#include "longspan/base/check.h"

namespace longspan::kernels::delta_test {
namespace {

constexpr DeltaDecay kDecays[] = {DeltaDecay::none, DeltaDecay::scalar, DeltaDecay::slot};

template <class S>
class DeltaKernel : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
  SerialParallel serial_;
};
using Types = ::testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(DeltaKernel, Types);

template <class S>
void check(const Shape& shape, const Parallel& parallel) {
  Problem<S> problem(shape);
  expect_matches_reference(problem, parallel, true);
}
template <class S>
void check_options(Shape shape, const Parallel& parallel) {
  for (const bool delta : {true, false})
    for (const DeltaDecay decay : kDecays) {
      shape.delta = delta, shape.decay = decay;
      check<S>(shape, parallel);
    }
}

TYPED_TEST(DeltaKernel, EveryShortLength) {
  for (int64_t n = 0; n <= 35; ++n) check_options<TypeParam>({.rows = {n}, .initial = n % 2 == 0}, this->serial_);
}

TYPED_TEST(DeltaKernel, LengthsAroundTheSegment) {
  for (const int64_t n : {255, 256, 257, 600}) check_options<TypeParam>({.rows = {n}}, this->serial_);
}

TYPED_TEST(DeltaKernel, EveryWidthAndSlotCount) {
  for (int64_t d = 1; d <= 80; ++d) {
    const int64_t r = d % 3 == 0 ? d : (d * 7) % 81 + 1;
    check<TypeParam>({.rows = {21},
                      .slots = r,
                      .width = d,
                      .delta = d % 5 != 0,
                      .decay = kDecays[d % 3],
                      .layout = Layout::misaligned,
                      .initial = true},
                     this->serial_);
  }
  check_options<TypeParam>({.rows = {37}, .slots = 256, .width = 130}, this->serial_);
  check_options<TypeParam>({.rows = {37}, .slots = 31, .width = 256, .layout = Layout::interleaved}, this->serial_);
}

TYPED_TEST(DeltaKernel, LayoutsHeadsAndBatches) {
  for (const Layout layout : {Layout::dense, Layout::interleaved, Layout::misaligned})
    check_options<TypeParam>({.rows = {19, 19, 19}, .heads = 3, .slots = 7, .width = 11, .layout = layout},
                             this->serial_);
}

TYPED_TEST(DeltaKernel, PackedSequences) {
  const ThreadPool pool(3);
  check_options<TypeParam>({.rows = {3, 0, 300, 1, 17, 0}, .heads = 2, .packed = true, .initial = true}, pool);
}

TYPED_TEST(DeltaKernel, RepeatedKeysAndBetaNearTwo) {
  check_options<TypeParam>({.rows = {100}, .keys = Keys::repeated, .largest_beta = 1.999}, this->serial_);
  check_options<TypeParam>({.rows = {100}, .keys = Keys::repeated, .largest_beta = 1.999, .slowest = 1e-6},
                           this->serial_);
}

TYPED_TEST(DeltaKernel, NoSequencesAndNoHeads) {
  check_options<TypeParam>({.rows = {}}, this->serial_);
  check_options<TypeParam>({.rows = {4}, .heads = 0}, this->serial_);
}

// Decay so strong that logarithms of a chunk, let alone their differences, leave every number format's range.
TYPED_TEST(DeltaKernel, HugeDecayAndForgettingEverything) {
  using T = Computed<TypeParam>;
  const T infinity = std::numeric_limits<T>::infinity();
  for (const DeltaDecay decay : {DeltaDecay::scalar, DeltaDecay::slot})
    for (const T strong : {T(-60), T(-1e30), -infinity}) {
      Problem<TypeParam> problem({.rows = {70}, .decay = decay, .initial = true});
      for (int64_t t = 3; t < 70; t += 5)
        for (int64_t c = 0; c < problem.decay_width(); c += 2) problem.log_alpha.row(0, 0, t)[c] = strong;
      expect_matches_reference(problem, this->serial_, true);
      if (strong < -1000) {
        for (int64_t t = 3; t < 70; t += 5) EXPECT_EQ(problem.dlog_alpha.row(0, 0, t)[0], 0);
      }
    }
}

// A gradient that recomputes the states before its segments has the same bits as one that got them.
TYPED_TEST(DeltaKernel, SegmentsMayBeRecomputed) {
  const Shape shape{.rows = {600, 600}, .heads = 2, .decay = DeltaDecay::slot, .initial = true};
  Problem<TypeParam> kept(shape), recomputed(shape);
  kept.forward(this->serial_);
  kept.backward(this->serial_);
  recomputed.backward(this->serial_, false, false);
  for (int64_t h = 0; h < 2; ++h) {
    EXPECT_EQ(kept.rows_of(kept.dk, 1, h), recomputed.rows_of(recomputed.dk, 1, h));
    EXPECT_EQ(kept.rows_of(kept.dlog_alpha, 1, h), recomputed.rows_of(recomputed.dlog_alpha, 1, h));
  }
}

template <class Break>
void expect_refused(const Break& break_it, const std::string& text) {
  DeltaForward<float> p;
  p.sequences = p.heads = 1, p.slots = p.width = 4;
  break_it(p);
  try {
    delta_forward(p, SerialParallel());
    ADD_FAILURE() << "accepted: " << text;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(DeltaInput, IsRefusedWithTheRuleAndTheValue) {
  expect_refused([](auto& p) { p.slots = 0; }, "slots must be 1 to 256, got 0");
  expect_refused([](auto& p) { p.width = 257; }, "width must be 1 to 256, got 257");
  expect_refused([](auto& p) { p.heads = -1; }, "heads must not be negative, got -1");
  expect_refused([](auto& p) { p.rows.rows = -2; }, "rows of sequence 0 must not be negative, got -2");
  const int64_t position = -1, started = 5;
  expect_refused([&](auto& p) { p.state.position = &position; }, "position of sequence 0 must be 0 to");
  expect_refused([&](auto& p) { p.state.position = &started; }, "needs the rows of the chunk under way");
}

}  // namespace
}  // namespace longspan::kernels::delta_test
