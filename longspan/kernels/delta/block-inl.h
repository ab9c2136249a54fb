// Blocks of rows and vectors of columns held in registers, to which products are added.
//
// Every element is one chain of multiply-adds in ascending order of the inner index, whatever the size of the block.
#if defined(LONGSPAN_KERNELS_DELTA_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DELTA_BLOCK_INL_H_
#undef LONGSPAN_KERNELS_DELTA_BLOCK_INL_H_
#else
#define LONGSPAN_KERNELS_DELTA_BLOCK_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "longspan/simd/gemm-inl.h"
#include "longspan/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::delta::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sn = longspan::simd::HWY_NAMESPACE;

template <class T>
using Vector = hn::Vec<hn::ScalableTag<T>>;
template <class T>
inline constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());

template <int kRows, int kVectors, class T>
using Sums = Vector<T>[kRows][kVectors];

enum class Sign { plus, minus };
/// How a factor is laid out: rows of the block a stride apart, or its inner steps.
enum class Factor { rows, steps };

template <int kRows, int kVectors, class T>
HWY_INLINE void clear(Sums<kRows, kVectors, T>& sum) {
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(hn::ScalableTag<T>());
  }
}
template <int kRows, int kVectors, class T>
HWY_INLINE void load(const T* from, int64_t stride, Sums<kRows, kVectors, T>& sum) {
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Load(hn::ScalableTag<T>(), from + i * stride + v * kLanes<T>);
  }
}
template <int kVectors, class T>
HWY_INLINE void store_row(const Vector<T> (&sum)[kVectors], T* to) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], hn::ScalableTag<T>(), to + v * kLanes<T>);
}

template <Sign kSign, class T>
HWY_INLINE Vector<T> add_product(Vector<T> x, Vector<T> y, Vector<T> sum) {
  if constexpr (kSign == Sign::plus)
    return hn::MulAdd(x, y, sum);
  else
    return hn::NegMulAdd(x, y, sum);
}

/// sum[i][:] +- = sum over k < inner of x(i, k) panel[k][:], x(i, k) = x[i * x_stride + k] or, Factor::steps,
/// x[k * x_stride + i]; the panel's rows are panel_stride apart and aligned.
template <Sign kSign, Factor kFactor, int kRows, int kVectors, class T>
HWY_INLINE void accumulate(int64_t inner, const T* HWY_RESTRICT x, int64_t x_stride, const T* HWY_RESTRICT panel,
                           int64_t panel_stride, Sums<kRows, kVectors, T>& sum) {
  const hn::ScalableTag<T> d;
  const int64_t row_stride = kFactor == Factor::rows ? x_stride : 1, step = kFactor == Factor::rows ? 1 : x_stride;
  for (int64_t k = 0; k < inner; ++k) {
    Vector<T> row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = hn::Load(d, panel + k * panel_stride + v * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, x[i * row_stride + k * step]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] = add_product<kSign, T>(factor, row[v], sum[i][v]);
    }
  }
}

/// use(integral_constant<int, vectors>, first column) for every group of vectors of `width` columns.
template <class T, class Use>
HWY_INLINE void for_columns(int64_t width, const Use& use) {
  for (int64_t j = 0; j < width; j += sn::kBlockVectors * kLanes<T>) {
    const int64_t left = (width - j + kLanes<T> - 1) / kLanes<T>;
    sn::DispatchVectors(HWY_MIN(left, static_cast<int64_t>(sn::kBlockVectors)),
                        [&](auto vectors) HWY_ATTR { use(vectors, j); });
  }
}

/// use(integral_constant<int, rows>, first row) for rows [begin, end), a block of kBlock rows where one fits at a
/// multiple of kBlock, else row by row.
template <int kBlock, class Use>
HWY_INLINE void for_rows(int64_t begin, int64_t end, const Use& use) {
  for (int64_t t = begin; t < end;) {
    if (t % kBlock == 0 && t + kBlock <= end) {
      use(std::integral_constant<int, kBlock>(), t);
      t += kBlock;
    } else {
      use(std::integral_constant<int, 1>(), t);
      ++t;
    }
  }
}

}  // namespace longspan::kernels::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
