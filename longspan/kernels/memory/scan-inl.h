// Running sums over the rows of a tile, in float64, lanes over slots.
#if defined(LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_
#undef LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_
#else
#define LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "longspan/simd/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sn = longspan::simd::HWY_NAMESPACE;

/// open [slots] += the rows of z, in order.
template <class T>
HWY_NOINLINE void add_rows(int64_t rows, int64_t slots, const T* z, int64_t stride, double* open) {
  const hn::ScalableTag<double> dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    auto sum = hn::Load(dd, open + i);
    for (int64_t t = 0; t < rows; ++t) sum = hn::Add(sum, sn::LoadDouble(dd, z + t * stride + i));
    hn::Store(sum, dd, open + i);
  }
}

/// Row by row: open += z, then h = (closed + open) / count, the division as a product with inverse[t], the float64
/// reciprocal of the count. h may be z.
template <class T>
HWY_NOINLINE void scan_rows(int64_t rows, int64_t slots, const T* z, int64_t stride, const double* inverse,
                            const double* closed, double* open, T* h) {
  const hn::ScalableTag<double> dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    const auto base = hn::Load(dd, closed + i);
    auto sum = hn::Load(dd, open + i);
    for (int64_t t = 0; t < rows; ++t) {
      sum = hn::Add(sum, sn::LoadDouble(dd, z + t * stride + i));
      sn::StoreDouble(dd, hn::Mul(hn::Add(base, sum), hn::Set(dd, inverse[t])), h + t * stride + i);
    }
    hn::Store(sum, dd, open + i);
  }
}

/// The mirror of scan_rows: from the last row to the first, suffix += dh[t] inverse[t], then dz[t] = suffix.
template <class T>
HWY_NOINLINE void suffix_rows(int64_t rows, int64_t slots, const T* dh, int64_t stride, const double* inverse,
                              double* suffix, T* dz) {
  const hn::ScalableTag<double> dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    auto sum = hn::Load(dd, suffix + i);
    for (int64_t t = rows - 1; t >= 0; --t) {
      sum = hn::MulAdd(sn::LoadDouble(dd, dh + t * stride + i), hn::Set(dd, inverse[t]), sum);
      sn::StoreDouble(dd, sum, dz + t * stride + i);
    }
    hn::Store(sum, dd, suffix + i);
  }
}

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
