// Products of a few rows with a packed panel, and sums of outer products over a few rows.
//
// Every output element is a sum over its inner index in ascending order with one accumulator, whatever the blocking:
// a row's bits do not depend on the rows computed beside it.
#if defined(LONGSPAN_SIMD_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_SIMD_GEMM_INL_H_
#undef LONGSPAN_SIMD_GEMM_INL_H_
#else
#define LONGSPAN_SIMD_GEMM_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "longspan/simd/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A register block has kGemmAccumulators sums; with the panel's vectors and one broadcast they fill the registers (32
// with AVX-512, 16 with AVX2), and there are enough of them to hide the latency of a multiply-add. The portable target
// has no registers to fill: small blocks compile faster.
inline constexpr int kGemmAccumulators = HWY_TARGET <= HWY_AVX3 ? 16 : HWY_TARGET <= HWY_AVX2 ? 8 : 4;
inline constexpr int kBlockVectors = kGemmAccumulators / 4;

/// Rows of a block that is kVectors vectors wide.
template <int kVectors>
inline constexpr int kBlockRows = kGemmAccumulators / (kVectors == 3 ? 4 : kVectors);

/// AccumulateOuter computes this many slots at a time at most: its operands are padded to a multiple of it.
inline constexpr int64_t kSlotPadding = 16;

/// use(integral_constant<int, vectors>) for 1 <= vectors <= kBlockVectors.
template <class Use>
HWY_INLINE void DispatchVectors(int64_t vectors, const Use& use) {
  if (vectors == 1) return use(std::integral_constant<int, 1>());
  if constexpr (kBlockVectors > 1)
    if (vectors == 2) return use(std::integral_constant<int, 2>());
  if constexpr (kBlockVectors > 2) {
    if (vectors == 3) return use(std::integral_constant<int, 3>());
    use(std::integral_constant<int, 4>());
  }
}

/// Rows that the caller reads next, brought into the cache during a product: strided rows escape the hardware's
/// prefetcher, and a burst of requests between products would stall.
template <class T>
struct RowsAhead {
  const T* data = nullptr;
  int64_t stride = 0;
  int64_t rows = 0;
};

/// In step k of the inner product of kRows rows: the cache lines of as many rows ahead, spread evenly over the steps.
template <int kRows, class T>
HWY_INLINE void PrefetchStep(const RowsAhead<T>& ahead, int64_t k) {
  constexpr int64_t kLine = 64 / sizeof(T), kSteps = kRows < kLine ? kLine / kRows : 1;
  if (k % kSteps != 0) return;
  const int64_t row = k / kSteps % kRows;
  if (row < ahead.rows) hwy::Prefetch(ahead.data + row * ahead.stride + k / kSteps / kRows * kLine);
}

/// out[i][j] = sum_k x[i][k] panel[k][j] (+ addend[j]) for kRows rows and kVectors vectors of columns; the last vector
/// stores `last` lanes.
template <int kRows, int kVectors, class T>
HWY_INLINE void MultiplyBlock(int64_t inner, const T* HWY_RESTRICT x, int64_t x_stride, const T* HWY_RESTRICT panel,
                              int64_t panel_stride, T* HWY_RESTRICT out, int64_t out_stride,
                              const T* HWY_RESTRICT addend, int64_t last, const RowsAhead<T>& ahead) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  hn::Vec<decltype(d)> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  }
  for (int64_t k = 0; k < inner; ++k) {
    if (ahead.rows > 0) PrefetchStep<kRows>(ahead, k);
    hn::Vec<decltype(d)> row[kVectors];
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, panel + k * panel_stride + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, x[i * x_stride + k]);
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(factor, row[j], sum[i][j]);
    }
  }
  if (addend != nullptr) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      const auto add = hn::LoadU(d, addend + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) sum[i][j] = hn::Add(sum[i][j], add);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors - 1; ++j) hn::StoreU(sum[i][j], d, out + i * out_stride + j * kLanes);
    T* end = out + i * out_stride + (kVectors - 1) * kLanes;
    if (last == kLanes)
      hn::StoreU(sum[i][kVectors - 1], d, end);
    else
      StoreN(d, sum[i][kVectors - 1], end, last);
  }
}

template <int kVectors, class T>
HWY_INLINE void MultiplyColumns(int64_t rows, int64_t inner, const T* x, int64_t x_stride, const T* panel,
                                int64_t panel_stride, T* out, int64_t out_stride, const T* addend, int64_t last,
                                const RowsAhead<T>& ahead) {
  int64_t i = 0;
  const auto blocks_of = [&](auto size) HWY_ATTR {
    constexpr int kRows = decltype(size)::value;
    for (; i + kRows <= rows; i += kRows) {
      const RowsAhead<T> next{ahead.data + i * ahead.stride, ahead.stride, HWY_MIN(ahead.rows - i, kRows)};
      MultiplyBlock<kRows, kVectors>(inner, x + i * x_stride, x_stride, panel, panel_stride, out + i * out_stride,
                                     out_stride, addend, last, next);
    }
  };
  // Rows a multiple of 4096 bytes apart share one set of the first-level cache, which holds 8 lines or a few more.
  if constexpr ((kBlockRows<kVectors>) > 8)
    if (x_stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0) blocks_of(std::integral_constant<int, 8>());
  blocks_of(std::integral_constant<int, kBlockRows<kVectors>>());
  if constexpr ((kBlockRows<kVectors>) > 4) blocks_of(std::integral_constant<int, 4>());
  blocks_of(std::integral_constant<int, 1>());
}

/// out [rows, columns] = x [rows, inner] panel [inner, columns] (+ addend [columns], added last). The panel's rows, and
/// addend, are readable to the next multiple of the vector length; out is written in `columns` only. `ahead`: rows of
/// `inner` elements to prefetch.
template <class T>
HWY_NOINLINE void MultiplyPanel(int64_t rows, int64_t inner, int64_t columns, const T* x, int64_t x_stride,
                                const T* panel, int64_t panel_stride, T* out, int64_t out_stride,
                                const std::type_identity_t<T>* addend = nullptr, RowsAhead<T> ahead = {}) {
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  for (int64_t j = 0; j < columns;) {
    const int64_t left = (columns - j + kLanes - 1) / kLanes;
    const int64_t vectors = HWY_MIN(left, static_cast<int64_t>(kBlockVectors));
    const int64_t last = HWY_MIN(kLanes, columns - j - (vectors - 1) * kLanes);
    const T* add = addend ? addend + j : nullptr;
    const auto columns_of = [&](auto count) HWY_ATTR {
      MultiplyColumns<decltype(count)::value>(rows, inner, x, x_stride, panel + j, panel_stride, out + j, out_stride,
                                              add, last, ahead);
    };
    DispatchVectors(vectors, columns_of);
    ahead.rows = 0;
    j += vectors * kLanes;
  }
}

/// One term of AccumulateOuter: x [rows, >= slots], y [rows, >= columns].
template <class T>
struct OuterTerm {
  const T* x;
  const T* y;
};

template <int kVectors, class T>
HWY_INLINE void OuterBlock(int64_t rows, const OuterTerm<T>* terms, int count, int64_t i, int64_t j, int64_t x_stride,
                           int64_t y_stride, T* HWY_RESTRICT sums, int64_t sums_stride) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  constexpr int kRows = kBlockRows<kVectors>;
  hn::Vec<decltype(d)> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int a = 0; a < kRows; ++a) {
#pragma GCC unroll 16
    for (int b = 0; b < kVectors; ++b) sum[a][b] = hn::LoadU(d, sums + a * sums_stride + b * kLanes);
  }
  for (int term = 0; term < count; ++term) {
    const T* HWY_RESTRICT x = terms[term].x + i;
    const T* HWY_RESTRICT y = terms[term].y + j;
    for (int64_t t = 0; t < rows; ++t) {
      hn::Vec<decltype(d)> row[kVectors];
#pragma GCC unroll 16
      for (int b = 0; b < kVectors; ++b) row[b] = hn::LoadU(d, y + t * y_stride + b * kLanes);
#pragma GCC unroll 16
      for (int a = 0; a < kRows; ++a) {
        const auto factor = hn::Set(d, x[t * x_stride + a]);
#pragma GCC unroll 16
        for (int b = 0; b < kVectors; ++b) sum[a][b] = hn::MulAdd(factor, row[b], sum[a][b]);
      }
    }
  }
#pragma GCC unroll 16
  for (int a = 0; a < kRows; ++a) {
#pragma GCC unroll 16
    for (int b = 0; b < kVectors; ++b) hn::StoreU(sum[a][b], d, sums + a * sums_stride + b * kLanes);
  }
}

template <int kVectors, class T>
HWY_INLINE void OuterColumns(int64_t rows, int64_t slots, const OuterTerm<T>* terms, int count, int64_t j,
                             int64_t x_stride, int64_t y_stride, T* sums, int64_t sums_stride) {
  for (int64_t i = 0; i < slots; i += kBlockRows<kVectors>)
    OuterBlock<kVectors>(rows, terms, count, i, j, x_stride, y_stride, sums + i * sums_stride + j, sums_stride);
}

/// sums[i][j] += sum over terms, then rows t, of x[t][i] y[t][j], for i < slots and j < columns. All operands are
/// padded: x and the rows of sums to a multiple of kSlotPadding, y and the columns of sums to the vector length.
template <class T>
HWY_NOINLINE void AccumulateOuter(int64_t rows, int64_t slots, int64_t columns, const OuterTerm<T>* terms, int count,
                                  int64_t x_stride, int64_t y_stride, T* sums, int64_t sums_stride) {
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  for (int64_t j = 0; j < columns;) {
    const int64_t left = (columns - j + kLanes - 1) / kLanes;
    const int64_t vectors = HWY_MIN(left, static_cast<int64_t>(kBlockVectors));
    DispatchVectors(vectors, [&](auto number) HWY_ATTR {
      OuterColumns<decltype(number)::value>(rows, slots, terms, count, j, x_stride, y_stride, sums, sums_stride);
    });
    j += vectors * kLanes;
  }
}

}  // namespace longspan::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
