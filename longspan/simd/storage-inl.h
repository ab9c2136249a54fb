// Vectors from and to memory whose elements are of the vector's type or, for vectors of float, bfloat16. Rounding is
// BFloat16's, the same bits on every target.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_SIMD_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_SIMD_STORAGE_INL_H_
#undef LONGSPAN_SIMD_STORAGE_INL_H_
#else
#define LONGSPAN_SIMD_STORAGE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "longspan/base/bfloat16.h"
#include "longspan/simd/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> LoadFrom(D d, const hn::TFromD<D>* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadFrom(D d, const BFloat16* p) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> dh;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, &p->bits))));
}

template <class D>
HWY_INLINE void StoreTo(D d, hn::Vec<D> v, hn::TFromD<D>* p) {
  hn::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void StoreTo(D d, hn::Vec<D> v, BFloat16* p) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> dh;
  const auto word = hn::BitCast(du, v);
  const auto upper = hn::ShiftRight<16>(word);
  const auto half = hn::Add(hn::And(upper, hn::Set(du, 1)), hn::Set(du, 0x7FFF));
  const auto rounded = hn::ShiftRight<16>(hn::Add(word, half));
  const auto nan = hn::Or(upper, hn::Set(du, 0x40));
  const auto bits = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), nan, rounded);
  hn::StoreU(hn::TruncateTo(dh, bits), dh, &p->bits);
}

// LoadN and StoreN for bfloat16: through a buffer, because masked 16-bit access needs AVX-512.
template <class D>
HWY_INLINE hn::Vec<D> LoadN(D d, const BFloat16* p, int64_t n) {
  HWY_ALIGN BFloat16 lanes[hn::MaxLanes(D())];
  std::memset(static_cast<void*>(lanes), 0, sizeof(lanes));
  std::memcpy(lanes, p, static_cast<std::size_t>(n) * sizeof(BFloat16));
  return LoadFrom(d, lanes);
}
template <class D>
HWY_INLINE void StoreN(D d, hn::Vec<D> v, BFloat16* p, int64_t n) {
  HWY_ALIGN BFloat16 lanes[hn::MaxLanes(D())];
  StoreTo(d, v, lanes);
  std::memcpy(p, lanes, static_cast<std::size_t>(n) * sizeof(BFloat16));
}

}  // namespace longspan::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
