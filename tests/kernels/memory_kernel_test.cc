// The memory kernels against the float64 reference.
#include <gtest/gtest.h>

#include "longspan/base/aligned.h"
#include "memory_support.h"

namespace longspan::kernels::memory_test {
namespace {

template <class T>
class MemoryKernel : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
  SerialParallel serial_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MemoryKernel, Types);

template <class T>
void check(const Shape& shape, const Parallel& parallel) {
  Problem<T> problem(shape);
  expect_matches_reference(problem, parallel, true);
}

TYPED_TEST(MemoryKernel, EveryShortLength) {
  for (int64_t n = 0; n <= 70; ++n)
    for (const bool causal : {true, false})
      check<TypeParam>({.queries = {n}, .slots = 9, .width = 13, .causal = causal}, this->serial_);
}

TYPED_TEST(MemoryKernel, LengthsAroundTheChunk) {
  for (const int64_t n : {255, 256, 257, 258, 511, 512, 513, 515, 1000})
    for (const bool causal : {true, false})
      check<TypeParam>({.queries = {n}, .slots = 5, .width = 6, .causal = causal}, this->serial_);
}

TYPED_TEST(MemoryKernel, EveryWidthAndSlotCount) {
  for (int64_t d = 1; d <= 80; ++d) {
    const int64_t r =
        d % 3 == 0 ? d : (d * 7) % 81 + 1;  // also more slots than width, which the kernel need not refuse
    check<TypeParam>({.queries = {21}, .slots = r, .width = d, .causal = d % 2 == 0, .layout = Layout::misaligned},
                     this->serial_);
  }
  check<TypeParam>({.queries = {37}, .slots = 128, .width = 128}, this->serial_);
  check<TypeParam>({.queries = {37}, .slots = 31, .width = 128, .layout = Layout::interleaved}, this->serial_);
  check<TypeParam>({.queries = {37}, .slots = 128, .width = 128, .causal = false}, this->serial_);
}

TYPED_TEST(MemoryKernel, LayoutsHeadsAndBatches) {
  for (const Layout layout : {Layout::dense, Layout::interleaved, Layout::misaligned})
    for (const bool shared : {false, true})
      for (const bool causal : {true, false})
        check<TypeParam>({.queries = {19, 19, 19},
                          .heads = 3,
                          .slots = 7,
                          .width = 11,
                          .causal = causal,
                          .shared_basis = shared,
                          .layout = layout,
                          .scale = 0.7},
                         this->serial_);
}

TYPED_TEST(MemoryKernel, PackedSequences) {
  check<TypeParam>({.queries = {3, 0, 300, 1, 17, 0}, .heads = 2, .slots = 6, .width = 8, .packed = true},
                   this->serial_);
  check<TypeParam>({.queries = {3, 0, 300, 1, 17, 5},
                    .sources = {4, 9, 1, 270, 0, 0},
                    .heads = 2,
                    .slots = 6,
                    .width = 8,
                    .causal = false,
                    .packed = true},
                   this->serial_);
}

TYPED_TEST(MemoryKernel, CrossLengths) {
  for (const int64_t queries : {0, 1, 40})
    for (const int64_t sources : {0, 1, 300})
      check<TypeParam>({.queries = {queries}, .sources = {sources}, .slots = 5, .width = 5, .causal = false},
                       this->serial_);
}

TYPED_TEST(MemoryKernel, IncomingState) {
  for (const int64_t count : {1, 100, 255, 256, 300, 511, 5000})
    for (const int64_t n : {0, 1, 2, 40, 300, 600})
      check<TypeParam>({.queries = {n}, .heads = 2, .slots = 5, .width = 6, .count = count}, this->serial_);
}

TYPED_TEST(MemoryKernel, LongSequencesInParallelAlongTheirLength) {
  ThreadPool pool(3);
  for (const int64_t count : {0, 77}) {
    check<TypeParam>({.queries = {5000}, .slots = 3, .width = 4, .count = count}, pool);
    check<TypeParam>({.queries = {4, 2100, 0, 3000, 9}, .slots = 3, .width = 4, .packed = true, .count = count}, pool);
  }
  check<TypeParam>({.queries = {2500}, .sources = {2700}, .slots = 3, .width = 4, .causal = false}, pool);
}

TYPED_TEST(MemoryKernel, AMemoryWithoutSourcesIsZeroWhateverTheQueryHolds) {
  Problem<TypeParam> problem({.queries = {3}, .sources = {0}, .slots = 3, .width = 5, .causal = false});
  problem.q.row(0, 0, 1)[2] = std::nan("");
  problem.forward(this->serial_);
  problem.backward(this->serial_);
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t c = 0; c < 5; ++c) {
      EXPECT_EQ(problem.out.row(0, 0, t)[c], 0);
      EXPECT_EQ(problem.dq.row(0, 0, t)[c], 0);
    }
  for (const TypeParam x : problem.dbasis) EXPECT_EQ(x, 0);
}

TYPED_TEST(MemoryKernel, NoSequences) {
  for (const bool causal : {true, false}) {
    Problem<TypeParam> problem({.queries = {}, .slots = 3, .width = 5, .causal = causal});
    problem.forward(this->serial_);
    problem.backward(this->serial_);
    for (const TypeParam x : problem.dbasis) EXPECT_EQ(x, 0);
  }
}

}  // namespace
}  // namespace longspan::kernels::memory_test
