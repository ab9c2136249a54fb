// The rest of a pattern: sums and dot products over lists of single rows.
//
// A row of 64 columns is four cache lines that no other row shares, and the lists say early which come next: the
// processor has dozens of them under way. Working the lists by blocks of keys that fit the second-level cache, or by
// slices of the columns that do, is no faster at any length (benchmarks/rest_tiling.cc; docs/ops/diffusion.md, Cost).
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "longspan/base/pattern_view.h"
#include "longspan/kernels/diffusion/panels.h"
#include "longspan/simd/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;
static_assert(kPanelColumns == panel::kPanelWidth);

/// How many rows a sum asks for before it needs them.
inline constexpr int64_t kRowsAhead = 8;

/// sums[0, columns) += sum over e in [first, last) of weights[e] x[keys[e]]: at most 64 columns of one chunk.
template <int kVectors, class T>
HWY_INLINE void gather_columns(const int32_t* keys, const T* weights, int64_t first, int64_t last, const T* x,
                               T* sums) {
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  hn::Vec<panel::TileTag<T>> sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Load(d, sums + v * N);
  for (int64_t e = first; e < last; ++e) {
    const T* next = x + int64_t{keys[HWY_MIN(e + kRowsAhead, last - 1)]} * kPanelColumns;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) hwy::Prefetch(next + v * N);
    const T* row = x + int64_t{keys[e]} * kPanelColumns;
    const auto weight = hn::Set(d, weights[e]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(weight, hn::Load(d, row + v * N), sum[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], d, sums + v * N);
}

/// The same for every column of a row of `sums`.
template <class T>
HWY_INLINE void gather_row(const int32_t* keys, const T* weights, int64_t first, int64_t last, const Panel<T>& x,
                           const Panel<T>& sums, int64_t row) {
  constexpr int64_t N = panel::Blocking<T>::lanes;
  for (int64_t chunk = 0; chunk < panel::chunk_count(x.width()); ++chunk) {
    const T* from = x.row(0) + chunk * x.stride();
    T* to = sums.row(row) + chunk * sums.stride();
    const int64_t columns = panel::chunk_width(x.width(), chunk);
    int64_t c = 0;
    for (; c + 3 * N < columns; c += 4 * N) gather_columns<4>(keys, weights, first, last, from + c, to + c);
    for (; c < columns; c += N) gather_columns<1>(keys, weights, first, last, from + c, to + c);
  }
}

/// The sums of the lanes of four vectors, in the first four lanes of `sums`. One tree for all targets of a width.
template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE void sum_four(D d, V a, V b, V c, V e, T* sums) {
  if constexpr (sizeof(T) == 4 && hn::MaxLanes(d) >= 4) {
    const hn::Repartition<double, D> dd;
    const V ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    const V ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
    const V low = hn::BitCast(d, hn::InterleaveLower(dd, hn::BitCast(dd, ab), hn::BitCast(dd, ce)));
    const V high = hn::BitCast(d, hn::InterleaveUpper(dd, hn::BitCast(dd, ab), hn::BitCast(dd, ce)));
    const V all = hn::Add(low, high);  // in every 128 bits
    if constexpr (hn::MaxLanes(d) == 4) {
      hn::Store(all, d, sums);
    } else {
      const hn::Half<D> half;
      const auto two = hn::Add(hn::LowerHalf(half, all), hn::UpperHalf(half, all));
      if constexpr (hn::MaxLanes(d) == 8) {
        hn::Store(two, half, sums);
      } else {
        const hn::Half<hn::Half<D>> quarter;
        hn::Store(hn::Add(hn::LowerHalf(quarter, two), hn::UpperHalf(quarter, two)), quarter, sums);
      }
    }
  } else {
    sums[0] = hn::GetLane(hn::SumOfLanes(d, a));
    sums[1] = hn::GetLane(hn::SumOfLanes(d, b));
    sums[2] = hn::GetLane(hn::SumOfLanes(d, c));
    sums[3] = hn::GetLane(hn::SumOfLanes(d, e));
  }
}

/// Adds the products, lane by lane, of kVectors vectors of a row and of each of four rows.
template <int kVectors, class T, class V>
HWY_INLINE void add_products(const T* x, const T* const (&rows)[4], V (&sums)[4]) {
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const V y = hn::Load(d, x + v * N);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) sums[r] = hn::MulAdd(y, hn::Load(d, rows[r] + v * N), sums[r]);
  }
}

/// use(e, <a[row], b[keys[e]]>) for e in [first, last).
template <class T, class Use>
HWY_INLINE void dot_row(const int32_t* keys, int64_t first, int64_t last, const Panel<T>& a, int64_t row,
                        const Panel<T>& b, const Use& use) {
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  for (int64_t e = first; e < last; e += 4) {
    hn::Vec<panel::TileTag<T>> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    // The last row again behind the end: a product's bits do not depend on its place.
    const T* first_rows[4];
    for (int r = 0; r < 4; ++r) first_rows[r] = b.row(keys[HWY_MIN(e + r, last - 1)]);
    for (int64_t chunk = 0; chunk < panel::chunk_count(a.width()); ++chunk) {
      const T* x = a.row(row) + chunk * a.stride();
      const int64_t columns = panel::chunk_width(a.width(), chunk), step = chunk * b.stride();
      const auto from = [&](int64_t c, const T*(&rows)[4]) {
        for (int r = 0; r < 4; ++r) rows[r] = first_rows[r] + step + c;
      };
      const T* rows[4];
      int64_t c = 0;
      for (; c + 3 * N < columns; c += 4 * N) {
        from(c, rows);
        add_products<4>(x + c, rows, sums);
      }
      for (; c < columns; c += N) {
        from(c, rows);
        add_products<1>(x + c, rows, sums);
      }
    }
    HWY_ALIGN T dots[4];
    sum_four(d, sums[0], sums[1], sums[2], sums[3], dots);
    for (int64_t i = 0; i < HWY_MIN(4, last - e); ++i) use(e + i, dots[i]);
  }
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
