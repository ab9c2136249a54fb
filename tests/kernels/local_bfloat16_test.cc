// Local attention on bfloat16 against the reference.
#include <gtest/gtest.h>

#include <utility>

#include "longspan/base/bfloat16.h"
#include "tests/kernels/local_case.h"

namespace longspan::testing {
namespace {

// bfloat16 in memory, sums in float32: results are off by what float32 gives, and one rounding.
template <class O>
class LocalBFloat16 : public ::testing::Test {};
using OutTypes = ::testing::Types<BFloat16, float>;
TYPED_TEST_SUITE(LocalBFloat16, OutTypes);

TYPED_TEST(LocalBFloat16, LengthsAndWindows) {
  for (const int64_t w : {1, 3, 16, 33})
    for (const int64_t length : {0, 1, 15, 16, 17, 50, 101})
      for (const int64_t right : {int64_t{0}, w - 1})
        expect_matches_reference<BFloat16, TypeParam>(self_shape(length, w - 1, right), true);
}

TYPED_TEST(LocalBFloat16, Widths) {
  for (int64_t width = 1; width <= 256; width += width < 70 ? 1 : 31) {
    LocalShape shape = self_shape(37, 10, width % 2 == 0 ? 0 : 4);
    shape.queries = shape.keys = {37, 37};
    shape.heads = 2;
    shape.width = width;
    shape.value_width = 81 - width % 81;
    shape.shift = width % 17;
    shape.padding = width % 3;
    shape.heads_inside = width % 4 < 2;
    expect_matches_reference<BFloat16, TypeParam>(shape, true);
  }
}

// Keys near a border of units are summed in float32 too, and rounded once.
TYPED_TEST(LocalBFloat16, AcrossUnits) {
  for (const auto& [left, right] : {std::pair<int64_t, int64_t>{3, 2}, {40, 30}, {512, 0}, {300, 400}, {600, 300}}) {
    LocalShape shape = self_shape(2100, left, right);
    shape.heads = 2;
    shape.key_heads = 1;
    shape.width = shape.value_width = 2;
    expect_matches_reference<BFloat16, TypeParam>(shape, true);
  }
}

TYPED_TEST(LocalBFloat16, GroupsPacksAndDropout) {
  LocalShape shape;
  shape.queries = {30, 0, 1, 3, 590, 0};
  shape.keys = {37, 0, 1, 16, 600, 5};
  shape.packed = true;
  shape.heads = 4;
  shape.key_heads = 2;
  shape.reach_left = 20;
  shape.reach_right = 6;
  shape.dropout = 0.25;
  expect_matches_reference<BFloat16, TypeParam>(shape, true);
}

}  // namespace
}  // namespace longspan::testing
