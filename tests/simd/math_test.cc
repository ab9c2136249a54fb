// The exponential of math-inl.h against the long double library on every target: error in units in the last place,
// and the special values that softmax leans on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/simd/math_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// in and out have a multiple of kLanes elements.
inline constexpr int64_t kLanes = 16;
template <class T>
void exponentials(const T* in, int64_t size, T* out) {
  const hn::CappedTag<T, kLanes> d;
  for (int64_t i = 0; i < size; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(simd::HWY_NAMESPACE::Exp2(d, hn::LoadU(d, in + i)), d, out + i);
}
void exp2_float(const float* in, int64_t size, float* out) { exponentials(in, size, out); }
void exp2_double(const double* in, int64_t size, double* out) { exponentials(in, size, out); }

}  // namespace longspan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include "longspan/simd/target.h"

namespace longspan {
namespace {

HWY_EXPORT(exp2_float);
HWY_EXPORT(exp2_double);

void run(const std::vector<float>& in, std::vector<float>& out) {
  simd::ensure_target();
  HWY_DYNAMIC_DISPATCH(exp2_float)(in.data(), static_cast<int64_t>(in.size()), out.data());
}
void run(const std::vector<double>& in, std::vector<double>& out) {
  simd::ensure_target();
  HWY_DYNAMIC_DISPATCH(exp2_double)(in.data(), static_cast<int64_t>(in.size()), out.data());
}

template <class T>
class Exponential : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Exponential, Types);

TYPED_TEST(Exponential, WithinTwoUnitsInTheLastPlace) {
  using T = TypeParam;
  const long double lowest = sizeof(T) == 4 ? -126.0L : -1022.0L;
  std::vector<T> in(1 << 18), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<T>(0.999L * lowest * static_cast<long double>(i) / static_cast<long double>(in.size()));
  run(in, out);
  long double worst = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const long double wanted = std::exp2(static_cast<long double>(in[i]));
    int exponent = 0;
    std::frexp(static_cast<T>(wanted), &exponent);
    const long double unit = std::ldexp(static_cast<long double>(std::numeric_limits<T>::epsilon()), exponent - 1);
    worst = std::max(worst, std::abs(static_cast<long double>(out[i]) - wanted) / unit);
  }
  EXPECT_LE(static_cast<double>(worst), 2.0);
}

TYPED_TEST(Exponential, SpecialValues) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity();
  uint64_t payload = sizeof(T) == 4 ? 0x7FC00001u : 0x7FF8000000000001u;
  T nan = 0;
  std::memcpy(&nan, &payload, sizeof(T));  // a NaN whose low bits would reach an exponent
  std::vector<T> in(16, T(0)), out(16, T(7));
  in[1] = -infinity;
  in[2] = T(-1e30);
  in[3] = nan;
  in[4] = std::numeric_limits<T>::quiet_NaN();
  in[5] = T(-0.0);
  in[6] = T(-5);
  in[7] = T(-2000);
  run(in, out);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 0);
  EXPECT_TRUE(std::isnan(out[3]));
  EXPECT_TRUE(std::isnan(out[4]));
  EXPECT_EQ(out[5], 1);
  EXPECT_EQ(out[6], T(0.03125));
  EXPECT_EQ(out[7], 0);
}

}  // namespace
}  // namespace longspan
#endif  // HWY_ONCE
