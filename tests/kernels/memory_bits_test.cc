// Bits of the memory kernels: they depend on nothing but a row's own past.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "longspan/base/aligned.h"
#include "memory_support.h"

namespace longspan::kernels::memory_test {
namespace {

template <class T>
class MemoryBits : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
  SerialParallel serial_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MemoryBits, Types);

template <class T>
void expect_same(const std::vector<T>& a, const std::vector<T>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  const auto result = testing::same_bits(a.data(), b.data(), static_cast<int64_t>(a.size()));
  EXPECT_TRUE(result) << what << ": " << result.message;
}

/// Rows [begin, begin + size) of the one sequence in `from`, run after the state that `problem` got.
template <class T>
void expect_part(const Problem<T>& whole, const Problem<T>& part, int64_t begin) {
  for (int64_t h = 0; h < whole.shape().heads; ++h) {
    const std::vector<T> all = whole.rows(whole.out, 0, h), rows = part.rows(part.out, 0, h);
    const auto first = all.begin() + begin * whole.shape().width;
    expect_same(rows, std::vector<T>(first, first + static_cast<int64_t>(rows.size())), "out");
  }
}

/// Runs the one sequence of `shape` in the given cuts and compares every row and the last state.
template <class T>
void check_cuts(Shape shape, const std::vector<int64_t>& cuts, const Parallel& parallel) {
  const int64_t n = shape.queries[0];
  Problem<T> whole(shape);
  whole.forward(parallel);
  std::vector<double> closed, open, visible;
  int64_t begin = 0;
  for (const int64_t size : cuts) {
    shape.queries = {size};
    shape.first_row = begin;
    shape.count = begin;
    Problem<T> part(shape);
    if (begin > 0) part.closed = closed, part.open = open, part.visible = visible;
    part.forward(parallel);
    expect_part(whole, part, begin);
    closed = part.closed_out, open = part.open_out, visible = part.visible_out;
    begin += size;
    ASSERT_EQ(part.count_out[0], begin);
    if (::testing::Test::HasFailure()) return;
  }
  ASSERT_EQ(begin, n);
  expect_same(closed, whole.closed_out, "closed");
  expect_same(open, whole.open_out, "open");
  expect_same(visible, whole.visible_out, "visible");
}

template <class Body>
void for_every_state(const Body& body) {
  for (const int64_t window : {0, 1, 30, 256, 300})
    for (const Accumulator accumulator :
         {Accumulator::float64, Accumulator::float32_compensated, Accumulator::float32}) {
      SCOPED_TRACE(::testing::Message() << "window " << window << " accumulator " << static_cast<int>(accumulator));
      body(Shape{.heads = 2,
                 .slots = 5,
                 .width = 7,
                 .feature_heads = 1,
                 .window = window,
                 .accumulator = accumulator,
                 .dropout = {0.2, 7}});
    }
}

TYPED_TEST(MemoryBits, AnyCutIntoCalls) {
  for_every_state([&](Shape shape) {
    shape.queries = {300};
    // One token at a time, over a chunk's border.
    check_cuts<TypeParam>(shape, std::vector<int64_t>(300, 1), this->serial_);
    shape.queries = {700};
    check_cuts<TypeParam>(shape, {1, 0, 15, 16, 17, 207, 0, 1, 255, 188}, this->serial_);
    check_cuts<TypeParam>(shape, {256, 256, 188}, this->serial_);
  });
}

TYPED_TEST(MemoryBits, CutsInParallelAlongTheLength) {
  const ThreadPool pool(3);
  for_every_state([&](Shape shape) {
    shape.queries = {6000};
    check_cuts<TypeParam>(shape, {1, 2999, 3000}, pool);
  });
}

TYPED_TEST(MemoryBits, TotalLength) {
  Shape shape{.queries = {900}, .heads = 2, .slots = 5, .width = 7};
  Problem<TypeParam> whole(shape);
  whole.forward(this->serial_);
  for (const int64_t n : {1, 5, 16, 17, 255, 256, 257, 600}) {
    shape.queries = {n};
    Problem<TypeParam> part(shape);
    part.forward(this->serial_);
    expect_part(whole, part, 0);
  }
}

template <class S, class M>
void expect_same_results(const Problem<S, M>& a, const Problem<S, M>& b) {
  for (int64_t s = 0; s < a.sequences(); ++s) {
    for (int64_t h = 0; h < a.shape().heads; ++h) {
      expect_same(a.rows_of(a.out, s, h), b.rows_of(b.out, s, h), "out");
      expect_same(a.rows_of(a.dq, s, h), b.rows_of(b.dq, s, h), "dq");
    }
    for (int64_t g = 0; g < a.features(); ++g) expect_same(a.rows_of(a.dm, s, g), b.rows_of(b.dm, s, g), "dm");
  }
  expect_same(a.dbasis, b.dbasis, "dbasis");
  if (!a.shape().causal) return;
  expect_same(a.closed_out, b.closed_out, "closed_out");
  expect_same(a.open_out, b.open_out, "open_out");
  expect_same(a.dclosed, b.dclosed, "dclosed");
  expect_same(a.dopen, b.dopen, "dopen");
  if (a.shape().window == 0) return;
  expect_same(a.visible_out, b.visible_out, "visible_out");
  expect_same(a.dvisible, b.dvisible, "dvisible");
}

template <class S, class M = S>
void check_thread_count() {
  const std::vector<Shape> shapes = {
      {.queries = {7000}, .slots = 5, .width = 7, .count = 77},       // one head: cut along its length
      {.queries = {2200, 2200}, .heads = 8, .slots = 5, .width = 7},  // many: whole sequences
      {.queries = {30, 9000, 2, 900}, .heads = 1, .slots = 5, .width = 7, .packed = true},
      {.queries = {9000}, .sources = {8000}, .heads = 1, .slots = 5, .width = 7, .causal = false},
      {.queries = {2000, 2000}, .heads = 3, .slots = 5, .width = 7, .shared_basis = true},
      {.queries = {7000}, .slots = 5, .width = 7, .window = 100, .count = 77},
      {.queries = {7000}, .heads = 2, .slots = 5, .width = 7, .feature_heads = 1, .window = 1000, .dropout = {0.1, 3}},
      {.queries = {7000},
       .heads = 2,
       .slots = 5,
       .width = 7,
       .feature_heads = 1,
       .accumulator = Accumulator::float32_compensated},
  };
  const SerialParallel serial;
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << "rows " << shape.queries[0] << " heads " << shape.heads << " window "
                                      << shape.window);
    Problem<S, M> one(shape);
    one.forward(serial);
    one.backward(serial);
    for (const int threads : {2, 3, 7}) {
      const ThreadPool pool(threads);
      for (int repeat = 0; repeat < 2; ++repeat) {
        Problem<S, M> many(shape);
        many.forward(pool);
        many.backward(pool);
        expect_same_results(one, many);
      }
    }
  }
}

TYPED_TEST(MemoryBits, ThreadCount) { check_thread_count<TypeParam>(); }
TEST(MemoryBitsBFloat16, ThreadCount) {
  check_thread_count<BFloat16>();
  check_thread_count<BFloat16, float>();
}

/// Serial, but counts the tasks of every phase that is worth sharing.
class Recorder final : public Parallel {
 public:
  int workers() const override { return 4; }
  void run(int64_t count, const std::function<void(int64_t, int)>& task) const override {
    fewest_ = std::min(fewest_, count);
    for (int64_t i = 0; i < count; ++i) task(i, 0);
  }
  int64_t fewest() const { return fewest_; }

 private:
  mutable int64_t fewest_ = std::numeric_limits<int64_t>::max();
};

// One long sequence and one head still keep four workers busy, in whatever dm is stored.
template <class S, class M = S>
void expect_every_phase_is_shared() {
  for (const int64_t window : {0, 1000}) {
    const Recorder recorder;
    Problem<S, M> problem({.queries = {16384}, .slots = 5, .width = 7, .window = window});
    problem.forward(recorder);
    problem.backward(recorder);
    EXPECT_GE(recorder.fewest(), 4) << "window " << window;
  }
}
TEST(MemoryBackward, OneSequenceIsCutAmongWorkers) {
  expect_every_phase_is_shared<float>();
  expect_every_phase_is_shared<BFloat16>();
  expect_every_phase_is_shared<BFloat16, float>();
}

TYPED_TEST(MemoryBits, AloneInABatchAndInAPack) {
  const std::vector<int64_t> lengths = {40, 300, 1, 40};
  Problem<TypeParam> pack({.queries = lengths, .heads = 3, .slots = 5, .width = 7, .packed = true});
  pack.forward(this->serial_);
  pack.backward(this->serial_, false);
  for (int64_t s = 0; s < 4; ++s)
    for (int64_t h = 0; h < 3; ++h) {
      Problem<TypeParam> alone({.queries = {lengths[s]},
                                .slots = 5,
                                .width = 7,
                                .layout = Layout::misaligned,
                                .first_sequence = s,
                                .first_head = h});
      alone.forward(this->serial_);
      alone.backward(this->serial_, false);
      expect_same(alone.rows(alone.out, 0, 0), pack.rows(pack.out, s, h), "out");
      expect_same(alone.rows(alone.dq, 0, 0), pack.rows(pack.dq, s, h), "dq");
      expect_same(alone.rows(alone.dm, 0, 0), pack.rows(pack.dm, s, h), "dm");
    }
  Problem<TypeParam> batch(
      {.queries = {40, 40, 40, 40}, .heads = 3, .slots = 5, .width = 7, .layout = Layout::interleaved});
  batch.forward(this->serial_);
  batch.backward(this->serial_, false);
  for (const int64_t s : {0, 3})
    for (int64_t h = 0; h < 3; ++h) {
      expect_same(batch.rows(batch.out, s, h), pack.rows(pack.out, s, h), "out");
      expect_same(batch.rows(batch.dm, s, h), pack.rows(pack.dm, s, h), "dm");
    }
}

TYPED_TEST(MemoryBits, TheFutureTouchesNothing) {
  const Shape shape{.queries = {300}, .slots = 5, .width = 7};
  Problem<TypeParam> clean(shape);
  clean.forward(this->serial_);
  for (const TypeParam poison :
       {static_cast<TypeParam>(std::nan("")), static_cast<TypeParam>(INFINITY), TypeParam(1e20)})
    for (const int64_t from : {1, 9, 16, 250, 260}) {
      Problem<TypeParam> dirty(shape);
      for (int64_t t = from; t < 300; ++t)
        for (int64_t c = 0; c < 7; ++c) dirty.q.row(0, 0, t)[c] = dirty.m.row(0, 0, t)[c] = poison;
      dirty.forward(this->serial_);
      for (int64_t t = 0; t < from; ++t)
        ASSERT_EQ(std::memcmp(clean.out.row(0, 0, t), dirty.out.row(0, 0, t), 7 * sizeof(TypeParam)), 0) << t;
    }
}

// The first stream fills the scratch with NaN or infinity, the padding behind the last slot too; the streams behind it
// run in the same scratch. `count` 77 comes with an open chunk.
TYPED_TEST(MemoryBits, AnotherSequencesNanTouchesNothing) {
  const TypeParam nan = static_cast<TypeParam>(std::nan("")), infinity = std::numeric_limits<TypeParam>::infinity();
  for (const TypeParam poison : {nan, infinity})
    for (const int64_t slots : {3, 5, 8})
      for (const int64_t count : {0, 77}) {
        SCOPED_TRACE(::testing::Message() << "poison " << poison << " slots " << slots << " count " << count);
        const Shape shape{.queries = {20, 20, 20}, .heads = 2, .slots = slots, .width = 7, .count = count};
        Problem<TypeParam> clean(shape), dirty(shape);
        for (int64_t t = 0; t < 20; ++t)
          dirty.q.row(0, 0, t)[3] = dirty.m.row(0, 0, t)[2] = dirty.m.row(0, 1, t)[3] = dirty.dout.row(0, 1, t)[1] =
              poison;
        for (Problem<TypeParam>* p : {&clean, &dirty}) {
          p->forward(this->serial_);
          p->backward(this->serial_);
        }
        for (int64_t s = 1; s < 3; ++s)
          for (int64_t h = 0; h < 2; ++h) {
            expect_same(clean.rows(clean.out, s, h), dirty.rows(dirty.out, s, h), "out");
            expect_same(clean.rows(clean.dq, s, h), dirty.rows(dirty.dq, s, h), "dq");
            expect_same(clean.rows(clean.dm, s, h), dirty.rows(dirty.dm, s, h), "dm");
            expect_same(clean.state_row(clean.closed_out, s, h), dirty.state_row(dirty.closed_out, s, h), "closed_out");
            expect_same(clean.state_row(clean.open_out, s, h), dirty.state_row(dirty.open_out, s, h), "open_out");
            expect_same(clean.state_row(clean.dclosed, s, h), dirty.state_row(dirty.dclosed, s, h), "dclosed");
            expect_same(clean.state_row(clean.dopen, s, h), dirty.state_row(dirty.dopen, s, h), "dopen");
          }
      }
}

}  // namespace
}  // namespace longspan::kernels::memory_test
