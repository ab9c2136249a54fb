// Running sums over the rows of a tile, lanes over slots.
#if defined(LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_
#undef LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_
#else
#define LONGSPAN_KERNELS_MEMORY_SCAN_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "longspan/kernels/memory/memory.h"
#include "longspan/simd/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sn = longspan::simd::HWY_NAMESPACE;

using DoubleTag = hn::ScalableTag<double>;
using Doubles = hn::Vec<DoubleTag>;

/// A vector of running sums, in memory as doubles [words][stride].
template <Accumulator kind>
struct RunningSum;

template <>
struct RunningSum<Accumulator::float64> {
  Doubles sum;

  HWY_INLINE void load(const double* p, int64_t) { sum = hn::LoadU(DoubleTag(), p); }
  HWY_INLINE void store(double* p, int64_t) const { hn::StoreU(sum, DoubleTag(), p); }
  HWY_INLINE void add(Doubles z) { sum = hn::Add(sum, z); }
  HWY_INLINE Doubles plus(const RunningSum& other) const { return hn::Add(sum, other.sum); }
};

template <>
struct RunningSum<Accumulator::float32> {
  using FloatTag = hn::Rebind<float, DoubleTag>;
  hn::Vec<FloatTag> sum;

  HWY_INLINE void load(const double* p, int64_t) { sum = hn::DemoteTo(FloatTag(), hn::LoadU(DoubleTag(), p)); }
  HWY_INLINE void store(double* p, int64_t) const { hn::StoreU(hn::PromoteTo(DoubleTag(), sum), DoubleTag(), p); }
  HWY_INLINE void add(Doubles z) { sum = hn::Add(sum, hn::DemoteTo(FloatTag(), z)); }
  HWY_INLINE Doubles plus(const RunningSum& other) const { return hn::PromoteTo(DoubleTag(), hn::Add(sum, other.sum)); }
};

template <>
struct RunningSum<Accumulator::float32_compensated> {
  using FloatTag = hn::Rebind<float, DoubleTag>;
  hn::Vec<FloatTag> sum, correction;

  HWY_INLINE void load(const double* p, int64_t stride) {
    sum = hn::DemoteTo(FloatTag(), hn::LoadU(DoubleTag(), p));
    correction = hn::DemoteTo(FloatTag(), hn::LoadU(DoubleTag(), p + stride));
  }
  HWY_INLINE void store(double* p, int64_t stride) const {
    hn::StoreU(hn::PromoteTo(DoubleTag(), sum), DoubleTag(), p);
    hn::StoreU(hn::PromoteTo(DoubleTag(), correction), DoubleTag(), p + stride);
  }
  /// The rounding error of the addition goes to the correction (Knuth's two-sum).
  HWY_INLINE void add(Doubles z) {
    const auto x = hn::DemoteTo(FloatTag(), z);
    const auto total = hn::Add(sum, x), from_x = hn::Sub(total, sum);
    const auto error = hn::Add(hn::Sub(sum, hn::Sub(total, from_x)), hn::Sub(x, from_x));
    sum = total;
    correction = hn::Add(correction, error);
  }
  HWY_INLINE Doubles plus(const RunningSum& other) const {
    const DoubleTag d;
    const auto sums = hn::Add(hn::PromoteTo(d, sum), hn::PromoteTo(d, other.sum));
    return hn::Add(sums, hn::Add(hn::PromoteTo(d, correction), hn::PromoteTo(d, other.correction)));
  }
};

/// use(integral_constant<Accumulator, kind>).
template <class Use>
HWY_INLINE void dispatch_accumulator(Accumulator kind, const Use& use) {
  if (kind == Accumulator::float64) return use(std::integral_constant<Accumulator, Accumulator::float64>());
  if (kind == Accumulator::float32) return use(std::integral_constant<Accumulator, Accumulator::float32>());
  use(std::integral_constant<Accumulator, Accumulator::float32_compensated>());
}

/// open [words][stride] += the rows of z [rows][stride], in order.
template <Accumulator kind, class T>
HWY_NOINLINE void add_rows(int64_t rows, int64_t slots, const T* z, int64_t stride, double* open) {
  const DoubleTag dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    RunningSum<kind> sum;
    sum.load(open + i, stride);
    for (int64_t t = 0; t < rows; ++t) sum.add(sn::LoadDouble(dd, z + t * stride + i));
    sum.store(open + i, stride);
  }
}

/// Row by row: open += z, then h = (closed + open) / count, the division as a product with inverse[t], the float64
/// reciprocal of the count. h may be z.
template <Accumulator kind, class T>
HWY_NOINLINE void scan_rows(int64_t rows, int64_t slots, const T* z, int64_t stride, const double* inverse,
                            const double* closed, double* open, T* h) {
  const DoubleTag dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    RunningSum<kind> base, sum;
    base.load(closed + i, stride);
    sum.load(open + i, stride);
    for (int64_t t = 0; t < rows; ++t) {
      sum.add(sn::LoadDouble(dd, z + t * stride + i));
      sn::StoreDouble(dd, hn::Mul(sum.plus(base), hn::Set(dd, inverse[t])), h + t * stride + i);
    }
    sum.store(open + i, stride);
  }
}

/// The same with windows: h = visible, then open += z, and behind the last row of a window, where inverse[t] is not 0,
/// visible = (closed + open) / count.
template <Accumulator kind, class T>
HWY_NOINLINE void scan_windows(int64_t rows, int64_t slots, const T* z, int64_t stride, const double* inverse,
                               const double* closed, double* open, double* visible, T* h) {
  const DoubleTag dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    RunningSum<kind> base, sum;
    base.load(closed + i, stride);
    sum.load(open + i, stride);
    auto seen = hn::LoadU(dd, visible + i);
    for (int64_t t = 0; t < rows; ++t) {
      sum.add(sn::LoadDouble(dd, z + t * stride + i));
      sn::StoreDouble(dd, seen, h + t * stride + i);
      if (inverse[t] != 0) seen = hn::Mul(sum.plus(base), hn::Set(dd, inverse[t]));
    }
    sum.store(open + i, stride);
    hn::StoreU(seen, dd, visible + i);
  }
}

/// The mirror of scan_rows: from the last row to the first, suffix += dh[t] inverse[t], then dz[t] = suffix.
template <class T>
HWY_NOINLINE void suffix_rows(int64_t rows, int64_t slots, const T* dh, int64_t stride, const double* inverse,
                              double* suffix, T* dz) {
  const DoubleTag dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    auto sum = hn::Load(dd, suffix + i);
    for (int64_t t = rows - 1; t >= 0; --t) {
      sum = hn::MulAdd(sn::LoadDouble(dd, dh + t * stride + i), hn::Set(dd, inverse[t]), sum);
      sn::StoreDouble(dd, sum, dz + t * stride + i);
    }
    hn::Store(sum, dd, suffix + i);
  }
}

/// The mirror of scan_windows: `pending` is the sum of dh over the rows of the window under way, from its end on.
template <class T>
HWY_NOINLINE void suffix_windows(int64_t rows, int64_t slots, const T* dh, int64_t stride, const double* inverse,
                                 double* suffix, double* pending, T* dz) {
  const DoubleTag dd;
  for (int64_t i = 0; i < slots; i += hn::MaxLanes(dd)) {
    auto sum = hn::Load(dd, suffix + i), window = hn::Load(dd, pending + i);
    for (int64_t t = rows - 1; t >= 0; --t) {
      if (inverse[t] != 0) {
        sum = hn::MulAdd(window, hn::Set(dd, inverse[t]), sum);
        window = hn::Zero(dd);
      }
      window = hn::Add(window, sn::LoadDouble(dd, dh + t * stride + i));
      sn::StoreDouble(dd, sum, dz + t * stride + i);
    }
    hn::Store(sum, dd, suffix + i);
    hn::Store(window, dd, pending + i);
  }
}

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
