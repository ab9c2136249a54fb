// Exponential and logarithm for softmax: vertical, branch-free, the same bits in every lane.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_SIMD_MATH_INL_H_
#undef LONGSPAN_SIMD_MATH_INL_H_
#else
#define LONGSPAN_SIMD_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace longspan::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// log2(e) and ln(2), to turn natural exponents into those of Exp2 and back.
inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

/// Constants of the exponential. `round` is 1.5 * 2^m plus the exponent's bias: adding it to t leaves
/// round(t) + bias in the low bits of the sum, so that a shift by m turns it into 2^round(t).
/// The polynomial is minimax in relative error on [-1/2, 1/2], value 1 at 0.
template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr float round = 12582912.0f + 127.0f;
  static constexpr float lowest_exponent = -126.0f;
  static constexpr int degree = 6;
  static constexpr float exp2[degree] = {0.69314721496807344249f,  0.24022652782877592462f,
                                         0.055503105509232275737f, 0.009617692973762287524f,
                                         0.001340664392902596828f, 0.00015594677971951511494f};
};
template <>
struct ExpConstants<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr double round = 6755399441055744.0 + 1023.0;
  static constexpr double lowest_exponent = -1022.0;
  static constexpr int degree = 11;
  static constexpr double exp2[degree] = {
      0.69314718055994569676,  0.24022650695910098006,    0.055504108664790394167,    0.0096181291076070022319,
      0.001333355815344004334, 0.00015403530441572426482, 0.000015252727385128873628, 1.3215442675152732993e-6,
      1.018064768288324178e-7, 7.0725704458548867628e-9,  4.0780687706269814153e-10};
};

/// 1 + r (c[0] + r (c[1] + ...)) by Horner's rule.
template <class D, class V = hn::Vec<D>, int kDegree>
HWY_INLINE V unit_polynomial(D d, V r, const hn::TFromD<D> (&c)[kDegree]) {
  V sum = hn::Set(d, c[kDegree - 1]);
  for (int i = kDegree - 2; i >= 0; --i) sum = hn::MulAdd(sum, r, hn::Set(d, c[i]));
  return hn::MulAdd(sum, r, hn::Set(d, hn::TFromD<D>(1)));
}

/// 2^t for t <= 0 (or slightly above: below 100): within 2 ulp; 0 where the result would be subnormal, so -infinity
/// gives 0; NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2(D d, V t) {
  using C = ExpConstants<hn::TFromD<D>>;
  const hn::RebindToUnsigned<D> du;
  const V round = hn::Set(d, C::round);
  const V shifted = hn::Add(t, round);
  const V r = hn::Sub(t, hn::Sub(shifted, round));
  const V power = hn::BitCast(d, hn::ShiftLeft<C::mantissa_bits>(hn::BitCast(du, shifted)));
  // A product and not an addition of exponents: whatever the bits of `power`, NaN stays NaN.
  const V result = hn::Mul(unit_polynomial(d, r, C::exp2), power);
  return hn::IfThenZeroElse(hn::Lt(t, hn::Set(d, C::lowest_exponent)), result);
}

/// Natural logarithm of normal numbers: Highway's, within 4 ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  return hn::Log(d, x);
}

}  // namespace longspan::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
