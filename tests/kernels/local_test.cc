// Local attention against the reference: values, gradients, layouts, edges.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/check.h"
#include "longspan/simd/target.h"
#include "longspan/testing/compare.h"
#include "tests/kernels/local_case.h"

namespace longspan::testing {
namespace {

template <class T>
class LocalKernel : public ::testing::Test {
 protected:
  void SetUp() override { set_poison_scratch(true); }
  void TearDown() override { set_poison_scratch(false); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LocalKernel, Types);

TEST(LocalTarget, ForcedTargetRuns) {
  const char* forced = std::getenv("LONGSPAN_SIMD");
  if (forced == nullptr || *forced == '\0') GTEST_SKIP() << "LONGSPAN_SIMD is not set";
  EXPECT_EQ(simd::active_target(), forced);
}

TYPED_TEST(LocalKernel, EveryLengthForSeveralWindows) {
  for (const int64_t w : {1, 2, 3, 8, 16, 17, 33, 64})
    for (int64_t length = 0; length <= 3 * w + 2; ++length)
      for (const int64_t right : {int64_t{0}, w - 1}) {
        LocalShape shape = self_shape(length, w - 1, right);
        shape.width = 5;
        shape.value_width = 3;
        shape.seed = static_cast<uint64_t>(length + 1);
        expect_matches_reference<TypeParam>(shape, true);
      }
}

TYPED_TEST(LocalKernel, EveryWidth) {
  std::vector<int64_t> widths;
  for (int64_t width = 1; width <= 256; ++width) widths.push_back(width);
  for (const int64_t width : widths) {
    LocalShape shape = self_shape(37, 10, width % 2 == 0 ? 0 : 4);
    shape.width = width;
    shape.value_width = width;
    shape.shift = width % 17;
    expect_matches_reference<TypeParam>(shape, true);
    shape.value_width = 81 - width % 81;
    expect_matches_reference<TypeParam>(shape, true);
  }
}

TYPED_TEST(LocalKernel, UnevenReaches) {
  for (const int64_t length : {1, 15, 16, 31, 50, 131})
    for (const int64_t left : {0, 1, 15, 16, 40, 1000})
      for (const int64_t right : {0, 1, 14, 17, 35, 1000})
        expect_matches_reference<TypeParam>(self_shape(length, left, right), true);
}

TYPED_TEST(LocalKernel, MisalignedAndStrided) {
  for (int64_t shift = 0; shift < 17; ++shift)
    for (const bool heads_inside : {false, true}) {
      LocalShape shape = self_shape(45, 11, 3);
      shape.queries = shape.keys = {45, 45};
      shape.heads = 2;
      shape.width = 19;
      shape.value_width = 33;
      shape.shift = shift;
      shape.padding = shift % 5;
      shape.heads_inside = heads_inside;
      expect_matches_reference<TypeParam>(shape, true);
    }
}

TYPED_TEST(LocalKernel, FewerQueriesThanKeys) {
  for (const int64_t keys : {1, 16, 17, 64, 100})
    for (const int64_t queries : {0, 1, 2, 15, 16, 17, 64})
      for (const int64_t left : {0, 7, 63, 500}) {
        if (queries > keys) continue;
        LocalShape shape = self_shape(keys, left, 0);
        shape.queries = {queries};
        expect_matches_reference<TypeParam>(shape, true);
        shape.reach_right = 5;
        expect_matches_reference<TypeParam>(shape, true);
      }
}

TYPED_TEST(LocalKernel, KeysInUnitsWithoutQueries) {
  for (const int64_t left : {15, 700}) {
    LocalShape shape = self_shape(1300, left, 2);
    shape.queries = {20};
    expect_matches_reference<TypeParam>(shape, true);
  }
}

TYPED_TEST(LocalKernel, AcrossUnits) {
  LocalShape shape = self_shape(1100, 40, 30);
  shape.heads = 2;
  expect_matches_reference<TypeParam>(shape, true);
  shape = self_shape(1100, 512, 0);
  expect_matches_reference<TypeParam>(shape, true);
  shape = self_shape(2100, 600, 300);
  expect_matches_reference<TypeParam>(shape, true);
}

TYPED_TEST(LocalKernel, Packed) {
  LocalShape shape;
  shape.queries = shape.keys = {37, 0, 1, 16, 600, 5};
  shape.packed = true;
  shape.heads = 3;
  shape.reach_left = 20;
  shape.table = TableKind::shared;
  expect_matches_reference<TypeParam>(shape, true);
  shape.reach_right = 6;
  shape.queries = {30, 0, 1, 3, 590, 0};
  shape.table = TableKind::per_head;
  expect_matches_reference<TypeParam>(shape, true);
}

TYPED_TEST(LocalKernel, Tables) {
  for (const TableKind kind : {TableKind::none, TableKind::per_head, TableKind::shared}) {
    LocalShape shape = self_shape(70, 9, 4);
    shape.queries = shape.keys = {70, 70};
    shape.heads = 3;
    shape.table = kind;
    shape.table_margin = 5;
    expect_matches_reference<TypeParam>(shape, true);
  }
}

TYPED_TEST(LocalKernel, GroupedHeads) {
  for (const int64_t key_heads : {1, 2, 3, 6})
    for (const TableKind kind : {TableKind::per_head, TableKind::shared}) {
      LocalShape shape = self_shape(70, 9, 4);
      shape.queries = shape.keys = {70, 70};
      shape.heads = 6;
      shape.key_heads = key_heads;
      shape.table = kind;
      shape.heads_inside = key_heads == 2;
      expect_matches_reference<TypeParam>(shape, true);
    }
  LocalShape across_units = self_shape(1100, 40, 30);
  across_units.heads = 4;
  across_units.key_heads = 2;
  expect_matches_reference<TypeParam>(across_units, true);
}

TYPED_TEST(LocalKernel, Dropout) {
  for (const double p : {0.1, 0.5, 0.9})
    for (const int64_t queries : {1, 20, 70}) {
      LocalShape shape = self_shape(70, 17, 4);
      shape.queries = {queries, queries};
      shape.keys = {70, 70};
      shape.heads = 4;
      shape.key_heads = 2;
      shape.dropout = p;
      expect_matches_reference<TypeParam>(shape, true);
    }
  LocalShape packed;
  packed.queries = packed.keys = {37, 0, 1, 600, 5};
  packed.packed = true;
  packed.reach_left = 20;
  packed.dropout = 0.3;
  packed.seed = 5;
  expect_matches_reference<TypeParam>(packed, true);
  packed.dropout_origin = {7, 0, 0, 5, 1, 1 << 20, 7, 37, 2, 3};
  expect_matches_reference<TypeParam>(packed, true);
}

TYPED_TEST(LocalKernel, TableGradientOutsideTheReachesIsZero) {
  LocalShape shape = self_shape(600, 15, 0);
  shape.heads = 2;
  shape.table_margin = 15;
  LocalCase<TypeParam> c(shape);
  c.forward();
  c.backward();
  for (int64_t h = 0; h < shape.heads; ++h)
    for (int64_t i = 0; i < c.table_size; ++i) {
      const TypeParam value = c.dtable[static_cast<std::size_t>(h * c.table_size + i)];
      const int64_t offset = i - c.table_centre;
      if (offset < -15 || offset > 0)
        EXPECT_EQ(value, 0) << "offset " << offset;
      else
        EXPECT_NE(value, 0) << "offset " << offset;
    }
}

// A constant added to the table is a shift of the softmax: a golden property of the definition.
TYPED_TEST(LocalKernel, ConstantInTheTableChangesNothing) {
  LocalCase<TypeParam> plain(self_shape(50, 12, 3)), shifted(self_shape(50, 12, 3));
  for (TypeParam& entry : shifted.table) entry += TypeParam(2);
  plain.forward();
  shifted.forward();
  const LocalBounds bounds = local_bounds<TypeParam>(shifted.reference(0, 0), shifted.dout.block_double(0, 0));
  const std::vector<double> wanted = plain.out.block_double(0, 0);
  const std::vector<TypeParam> got = shifted.out.block(0, 0);
  const Comparison result = within(got.data(), wanted.data(), static_cast<int64_t>(got.size()), 2 * bounds.out);
  EXPECT_TRUE(result) << result.message;
}

// Equal scores and a power of two of keys: the mean of small integers is exact.
TYPED_TEST(LocalKernel, MeansOfSmallIntegersAreExact) {
  for (const int64_t window : {1, 2, 8, 32}) {
    LocalShape shape = self_shape(100, window - 1, 0);
    shape.table = TableKind::none;
    shape.value_width = 21;
    LocalCase<TypeParam> c(shape);
    for (int64_t i = 0; i < 100; ++i) {
      for (int64_t x = 0; x < shape.width; ++x) c.q.row(0, 0, i)[x] = 0;
      for (int64_t x = 0; x < shape.value_width; ++x)
        c.v.row(0, 0, i)[x] = static_cast<TypeParam>((i * 7 + x * 5) % 31 - 15);
    }
    c.forward();
    for (int64_t i = window - 1; i < 100; ++i)
      for (int64_t x = 0; x < shape.value_width; ++x) {
        TypeParam sum = 0;
        for (int64_t j = i - window + 1; j <= i; ++j) sum += c.v.row(0, 0, j)[x];
        EXPECT_EQ(c.out.row(0, 0, i)[x], sum / static_cast<TypeParam>(window)) << "row " << i << " column " << x;
      }
  }
}

TYPED_TEST(LocalKernel, RowWithoutAnyWeightGivesZeros) {
  LocalShape shape = self_shape(40, 3, 0);
  shape.queries = shape.keys = {40};
  LocalCase<TypeParam> c(shape);
  for (TypeParam& entry : c.table) entry = -std::numeric_limits<TypeParam>::infinity();
  // Whatever stands in the rows.
  c.v.row(0, 0, 3)[0] = c.dout.row(0, 0, 20)[1] = std::numeric_limits<TypeParam>::quiet_NaN();
  c.k.row(0, 0, 30)[0] = c.v.row(0, 0, 31)[0] = std::numeric_limits<TypeParam>::infinity();
  c.forward();
  c.backward();
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(c.lse.row(0, 0, i)[0], -std::numeric_limits<TypeParam>::infinity());
    for (int64_t x = 0; x < shape.width; ++x) {
      EXPECT_EQ(c.out.row(0, 0, i)[x], 0);
      EXPECT_EQ(c.dq.row(0, 0, i)[x], 0);
      EXPECT_EQ(c.dk.row(0, 0, i)[x], 0);
      EXPECT_EQ(c.dv.row(0, 0, i)[x], 0);
    }
  }
}

// Scores far apart: the softmax is one-hot without overflow.
TYPED_TEST(LocalKernel, LargeScores) {
  LocalShape shape = self_shape(40, 7, 0);
  LocalCase<TypeParam> c(shape);
  for (std::size_t i = 0; i < c.table.size(); ++i) c.table[i] = static_cast<TypeParam>(i == 3 ? 30000 : -30000);
  c.forward();
  for (int64_t i = 7; i < 40; ++i)
    for (int64_t x = 0; x < shape.width; ++x) EXPECT_EQ(c.out.row(0, 0, i)[x], c.v.row(0, 0, i - 4)[x]);
}

// Weighted values are summed before they are a mean: the sum must not overflow where the mean does not.
TYPED_TEST(LocalKernel, ValuesNearTheLargestNumber) {
  constexpr TypeParam kLargest = std::numeric_limits<TypeParam>::max();
  for (const int64_t window : {1, 2, 3, 7, 64, 255}) {
    LocalShape shape = self_shape(300, window - 1, 0);
    LocalCase<TypeParam> c(shape);
    for (int64_t i = 0; i < 300; ++i)
      for (int64_t x = 0; x < shape.value_width; ++x) c.v.row(0, 0, i)[x] = x % 2 == 0 ? kLargest : -kLargest / 3;
    // Weights that are off by these bounds, and a mean that stays in range.
    const double bound = local_bounds<TypeParam>(c.reference(0, 0), c.dout.block_double(0, 0)).out;
    for (int64_t i = 0; i < 300; ++i)
      for (int64_t x = 0; x < shape.value_width; x += 2) c.v.row(0, 0, i)[x] -= static_cast<TypeParam>(bound);
    c.forward();
    for (int64_t i = 0; i < 300; ++i)
      for (int64_t x = 0; x < shape.value_width; ++x)
        EXPECT_NEAR(static_cast<double>(c.out.row(0, 0, i)[x] / kLargest),
                    static_cast<double>(c.v.row(0, 0, 0)[x] / kLargest), bound / static_cast<double>(kLargest))
            << "window " << window << " row " << i;
  }
}

TYPED_TEST(LocalKernel, BadSizesAreNamed) {
  LocalShape shape = self_shape(4, 1, 0);
  shape.queries = {5};
  LocalCase<TypeParam> c(shape);
  try {
    c.forward();
    FAIL() << "5 queries of 4 keys were accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "local attention: queries of sequence 0 must be at most its 4 keys, got 5");
  }
  LocalShape grouped = self_shape(4, 1, 0);
  grouped.heads = 3;
  LocalCase<TypeParam> uneven(grouped);
  uneven.shape.key_heads = 2;
  EXPECT_THROW(uneven.forward(), InputError);
  LocalCase<TypeParam> certain(self_shape(4, 1, 0));
  certain.shape.dropout = 1;
  EXPECT_THROW(certain.forward(), InputError);
  LocalCase<TypeParam> negative(self_shape(4, -1, 0));
  EXPECT_THROW(negative.forward(), InputError);
  EXPECT_THROW(negative.backward(), InputError);
}

}  // namespace
}  // namespace longspan::testing
