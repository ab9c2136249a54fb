// Bits of the delta memory kernels: they depend on nothing but a row's own past.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "delta_support.h"
#include "longspan/base/aligned.h"

namespace longspan::kernels::delta_test {
namespace {

template <class S>
class DeltaBits : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
  SerialParallel serial_;
};
using Types = ::testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(DeltaBits, Types);

template <class X>
void expect_same(const std::vector<X>& a, const std::vector<X>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  if (a.empty()) return;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(X)), 0) << what;
}
template <class T>
void expect_same_state(const State<T>& a, const State<T>& b) {
  expect_same(a.memory, b.memory, "memory");
  expect_same(a.keys, b.keys, "keys");
  expect_same(a.writes, b.writes, "writes");
  expect_same(a.log_alpha, b.log_alpha, "log_alpha");
  EXPECT_EQ(a.position, b.position);
}

template <class Body>
void for_every_option(const Body& body) {
  for (const bool delta : {true, false})
    for (const DeltaDecay decay : {DeltaDecay::none, DeltaDecay::scalar, DeltaDecay::slot}) {
      SCOPED_TRACE(::testing::Message() << "delta " << delta << " decay " << static_cast<int>(decay));
      body(Shape{.heads = 2, .slots = 7, .width = 21, .delta = delta, .decay = decay, .initial = true});
    }
}

/// Runs the one sequence of `shape` in the given cuts and compares every row and the last state.
template <class S>
void check_cuts(Shape shape, const std::vector<int64_t>& cuts, const Parallel& parallel) {
  Problem<S> whole(shape);
  whole.forward(parallel);
  auto state = whole.state;
  int64_t begin = 0;
  for (const int64_t size : cuts) {
    shape.rows = {size}, shape.first_row = begin;
    Problem<S> part(shape);
    part.state = state;
    part.forward(parallel);
    for (int64_t h = 0; h < shape.heads; ++h) {
      const std::vector<S> all = whole.out.rows(0, h), rows = part.out.rows(0, h);
      const auto first = all.begin() + begin * shape.width;
      expect_same(rows, std::vector<S>(first, first + static_cast<int64_t>(rows.size())), "out");
    }
    state = part.next;
    begin += size;
    ASSERT_EQ(state.position[0], begin);
    if (begin == whole.shape().rows[0]) expect_same(part.last, whole.last, "last");
    if (::testing::Test::HasFailure()) return;
  }
  ASSERT_EQ(begin, whole.shape().rows[0]);
  expect_same_state(state, whole.next);
}

TYPED_TEST(DeltaBits, AnyCutIntoCalls) {
  for_every_option([&](Shape shape) {
    shape.rows = {40};
    check_cuts<TypeParam>(shape, std::vector<int64_t>(40, 1), this->serial_);
    shape.rows = {107};
    check_cuts<TypeParam>(shape, {1, 0, 14, 1, 0, 17, 3, 30, 11, 0, 30}, this->serial_);
    shape.rows = {64};
    check_cuts<TypeParam>(shape, {16, 32, 16, 0}, this->serial_);
  });
}

/// Gradients of the cuts, run back from the last with the gradient of each state, and the whole's.
template <class S>
void check_gradient_cuts(Shape shape, const std::vector<int64_t>& cuts, const Parallel& parallel) {
  Problem<S> whole(shape);
  whole.forward(parallel);
  whole.backward(parallel, true);
  std::vector<std::unique_ptr<Problem<S>>> parts;
  int64_t begin = 0;
  for (const int64_t size : cuts) {
    shape.rows = {size}, shape.first_row = begin;
    parts.push_back(std::make_unique<Problem<S>>(shape));
    if (begin > 0) parts.back()->state = parts[parts.size() - 2]->next;
    parts.back()->forward(parallel);
    begin += size;
  }
  ASSERT_EQ(begin, whole.shape().rows[0]);
  for (std::size_t i = parts.size(); i-- > 0;) {
    Problem<S>& part = *parts[i];
    begin -= cuts[i];
    if (i + 1 < parts.size()) part.dnext = parts[i + 1]->dstate;
    part.backward(parallel, true);
    for (int64_t h = 0; h < shape.heads; ++h) {
      // The gradients of the rows under way are no larger than that of the memory; both sides round.
      std::vector<double> dlast;
      for (const auto x : whole.state_of(whole.dnext.memory, 0, h)) dlast.push_back(2 * x);
      const Bounds bounds =
          error_bounds<Computed<S>>(whole.reference_case(0, h), whole.rows_of(whole.dout, 0, h), dlast);
      const auto near = [&](const auto& of_whole, const auto& of_part, double bound, const char* what) {
        const std::vector<double> all = whole.rows_of(of_whole, 0, h), rows = part.rows_of(of_part, 0, h);
        const auto result = testing::within(rows.data(), all.data() + begin * of_whole.width,
                                            static_cast<int64_t>(rows.size()), 2 * bound);
        EXPECT_TRUE(result) << what << " of cut " << i << ": " << result.message;
      };
      near(whole.dq, part.dq, bounds.dq, "dq");
      near(whole.dk, part.dk, bounds.dk, "dk");
      near(whole.dv, part.dv, bounds.dv, "dv");
      near(whole.dbeta, part.dbeta, bounds.dbeta, "dbeta");
      near(whole.dlog_alpha, part.dlog_alpha, bounds.dlog_alpha, "dlog_alpha");
    }
  }
}

template <class S>
void expect_same_results(const Problem<S>& a, const Problem<S>& b) {
  for (int64_t s = 0; s < a.sequences(); ++s)
    for (int64_t h = 0; h < a.shape().heads; ++h) {
      expect_same(a.out.rows(s, h), b.out.rows(s, h), "out");
      expect_same(a.dq.rows(s, h), b.dq.rows(s, h), "dq");
      expect_same(a.dk.rows(s, h), b.dk.rows(s, h), "dk");
      expect_same(a.dv.rows(s, h), b.dv.rows(s, h), "dv");
      expect_same(a.dbeta.rows(s, h), b.dbeta.rows(s, h), "dbeta");
      expect_same(a.dlog_alpha.rows(s, h), b.dlog_alpha.rows(s, h), "dlog_alpha");
    }
  expect_same(a.last, b.last, "last");
  expect_same_state(a.next, b.next);
  expect_same(a.dstate.memory, b.dstate.memory, "dstate");
}

TYPED_TEST(DeltaBits, ThreadCount) {
  for_every_option([&](Shape shape) {
    shape.rows = {300, 17, 0, 900}, shape.packed = true;
    Problem<TypeParam> one(shape);
    one.forward(this->serial_);
    one.backward(this->serial_);
    const ThreadPool pool(3);
    for (int repeat = 0; repeat < 2; ++repeat) {
      Problem<TypeParam> many(shape);
      many.forward(pool);
      many.backward(pool);
      expect_same_results(one, many);
    }
  });
}

TYPED_TEST(DeltaBits, TotalLength) {
  for_every_option([&](Shape shape) {
    shape.rows = {300};
    Problem<TypeParam> whole(shape);
    whole.forward(this->serial_);
    for (const int64_t n : {1, 5, 15, 16, 17, 40, 256}) {
      shape.rows = {n};
      Problem<TypeParam> part(shape);
      part.forward(this->serial_);
      for (int64_t h = 0; h < shape.heads; ++h) {
        std::vector<TypeParam> all = whole.out.rows(0, h);
        all.resize(n * shape.width);
        expect_same(part.out.rows(0, h), all, "out");
      }
    }
  });
}

TYPED_TEST(DeltaBits, AloneInABatchAndInAPack) {
  for_every_option([&](Shape shape) {
    shape.initial = false, shape.heads = 3;
    const std::vector<int64_t> lengths = {40, 300, 1, 40};
    shape.rows = lengths, shape.packed = true;
    Problem<TypeParam> pack(shape);
    pack.forward(this->serial_);
    pack.backward(this->serial_, true);
    shape.packed = false, shape.heads = 1, shape.layout = Layout::misaligned;
    for (int64_t s = 0; s < 4; ++s)
      for (int64_t h = 0; h < 3; ++h) {
        shape.rows = {lengths[s]}, shape.first_sequence = s, shape.first_head = h;
        Problem<TypeParam> alone(shape);
        alone.dnext = State<typename Problem<TypeParam>::T>(1, 1, shape);
        const auto copy = [&](const auto& from, auto& to) {
          const std::size_t size = to.size(), at = (s * 3 + h) * size;
          std::copy(from.begin() + at, from.begin() + at + size, to.begin());
        };
        copy(pack.dnext.memory, alone.dnext.memory), copy(pack.dnext.keys, alone.dnext.keys);
        copy(pack.dnext.writes, alone.dnext.writes), copy(pack.dnext.log_alpha, alone.dnext.log_alpha);
        alone.forward(this->serial_);
        alone.backward(this->serial_, true);
        expect_same(alone.out.rows(0, 0), pack.out.rows(s, h), "out");
        expect_same(alone.dq.rows(0, 0), pack.dq.rows(s, h), "dq");
        expect_same(alone.dk.rows(0, 0), pack.dk.rows(s, h), "dk");
        expect_same(alone.dv.rows(0, 0), pack.dv.rows(s, h), "dv");
        expect_same(alone.dlog_alpha.rows(0, 0), pack.dlog_alpha.rows(s, h), "dlog_alpha");
      }
  });
}

TYPED_TEST(DeltaBits, GradientsOfAStreamAreThoseOfTheWhole) {
  if (std::is_same_v<TypeParam, BFloat16>) GTEST_SKIP() << "rounded to storage on both sides";
  for_every_option([&](Shape shape) {
    shape.rows = {50}, shape.initial = false;
    check_gradient_cuts<TypeParam>(shape, {50}, this->serial_);
    check_gradient_cuts<TypeParam>(shape, {5, 20, 1, 0, 22, 2}, this->serial_);
    check_gradient_cuts<TypeParam>(shape, {16, 17, 17}, this->serial_);
  });
}

TYPED_TEST(DeltaBits, TheFutureTouchesNothing) {
  using T = Computed<TypeParam>;
  for_every_option([&](Shape shape) {
    shape.rows = {50};
    Problem<TypeParam> clean(shape);
    clean.forward(this->serial_);
    for (const T poison : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), T(1e20)})
      for (const int64_t from : {1, 9, 16, 35}) {
        Problem<TypeParam> dirty(shape);
        for (int64_t t = from; t < 50; ++t) {
          for (int64_t c = 0; c < shape.slots; ++c)
            dirty.q.row(0, 0, t)[c] = dirty.k.row(0, 0, t)[c] = stored<TypeParam>(poison);
          for (int64_t c = 0; c < shape.width; ++c) dirty.v.row(0, 0, t)[c] = stored<TypeParam>(poison);
          dirty.beta.row(0, 0, t)[0] = poison;
        }
        dirty.forward(this->serial_);
        std::vector<TypeParam> a = clean.out.rows(0, 0), b = dirty.out.rows(0, 0);
        a.resize(from * shape.width), b.resize(from * shape.width);
        expect_same(a, b, "out");
        // Nor does it reach another head, which comes next in the same scratch.
        expect_same(clean.out.rows(0, 1), dirty.out.rows(0, 1), "out of another head");
      }
  });
}

}  // namespace
}  // namespace longspan::kernels::delta_test
