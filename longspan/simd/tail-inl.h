// Loads and stores of the first n lanes, 0 <= n <= Lanes(d), that touch no memory behind them.
#if defined(LONGSPAN_SIMD_TAIL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_SIMD_TAIL_INL_H_
#undef LONGSPAN_SIMD_TAIL_INL_H_
#else
#define LONGSPAN_SIMD_TAIL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace longspan::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// p[0..n), zeros in the other lanes.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadN(D d, const T* HWY_RESTRICT p, int64_t n) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else  // a masked load of the portable targets reads the whole vector
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
#endif
}

/// p[0..n) = v[0..n).
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreN(D d, hn::Vec<D> v, T* HWY_RESTRICT p, int64_t n) {
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
}

// Single precision is summed in double: a vector of doubles from and to storage of either type.

template <class DD>
HWY_INLINE hn::Vec<DD> LoadDouble(DD dd, const double* p) {
  return hn::LoadU(dd, p);
}
template <class DD>
HWY_INLINE hn::Vec<DD> LoadDouble(DD dd, const float* p) {
  return hn::PromoteTo(dd, hn::LoadU(hn::Rebind<float, DD>(), p));
}
template <class DD>
HWY_INLINE void StoreDouble(DD dd, hn::Vec<DD> v, double* p) {
  hn::StoreU(v, dd, p);
}
template <class DD>
HWY_INLINE void StoreDouble(DD, hn::Vec<DD> v, float* p) {
  const hn::Rebind<float, DD> df;
  hn::StoreU(hn::DemoteTo(df, v), df, p);
}
/// The same for the first n lanes.
template <class DD>
HWY_INLINE hn::Vec<DD> LoadDoubleN(DD dd, const double* p, int64_t n) {
  return LoadN(dd, p, n);
}
template <class DD>
HWY_INLINE hn::Vec<DD> LoadDoubleN(DD dd, const float* p, int64_t n) {
  return hn::PromoteTo(dd, LoadN(hn::Rebind<float, DD>(), p, n));
}
template <class DD>
HWY_INLINE void StoreDoubleN(DD dd, hn::Vec<DD> v, double* p, int64_t n) {
  StoreN(dd, v, p, n);
}
template <class DD>
HWY_INLINE void StoreDoubleN(DD, hn::Vec<DD> v, float* p, int64_t n) {
  const hn::Rebind<float, DD> df;
  StoreN(df, hn::DemoteTo(df, v), p, n);
}

}  // namespace longspan::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
