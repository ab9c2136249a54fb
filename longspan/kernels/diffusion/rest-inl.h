// The rest of a pattern: sums and dot products over lists of single rows, by blocks of the rows that they read, so that
// these stay in the second-level cache.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_REST_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "longspan/base/pattern_view.h"
#include "longspan/kernels/diffusion/panels.h"
#include "longspan/simd/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;
static_assert(kPanelColumns == panel::kPanelWidth);

/// Rows of a list that are worked together, so that a block of what they read serves all of them.
inline constexpr int64_t kRestUnit = 1024;
/// Bytes of a block.
inline constexpr int64_t kRestBlockBytes = int64_t{512} << 10;

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

/// dots(e, <a[row], b[keys[e]]>) for e in [first, last).
template <class T, class Use>
HWY_INLINE void dot_row(const int32_t* keys, int64_t first, int64_t last, const Panel<T>& a, int64_t row,
                        const Panel<T>& b, const Use& use) {
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  for (int64_t e = first; e < last; ++e) {
    auto sum = hn::Zero(d);
    for (int64_t chunk = 0; chunk < panel::chunk_count(a.width()); ++chunk) {
      const T* x = a.row(row) + chunk * a.stride();
      const T* y = b.row(keys[e]) + chunk * b.stride();
      const int64_t columns = panel::chunk_width(a.width(), chunk);
      for (int64_t c = 0; c < columns; c += N) sum = hn::MulAdd(hn::Load(d, x + c), hn::Load(d, y + c), sum);
    }
    use(e, hn::GetLane(hn::SumOfLanes(d, sum)));
  }
}

/// use(row, first, last) with pieces [first, last) of the lists of the rows [begin, end) that together are all of them,
/// each row's in ascending order: block after block of the keys, where rows of `row_bytes` do not all fit the cache.
template <class Use>
HWY_INLINE void for_each_piece(const CsrView& lists, int64_t begin, int64_t end, int64_t row_bytes, const Use& use) {
  const int64_t block = std::max<int64_t>(kRestBlockBytes / row_bytes, 1);
  if (lists.rows <= 2 * block) {
    for (int64_t row = begin; row < end; ++row) use(row, lists.begin[row], lists.begin[row + 1]);
    return;
  }
  int64_t at[kRestUnit];
  for (int64_t unit = begin; unit < end; unit += kRestUnit) {
    const int64_t count = std::min(kRestUnit, end - unit);
    std::copy_n(lists.begin + unit, count, at);
    for (int64_t keys_end = block; keys_end < lists.rows + block; keys_end += block)
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = at[i], last_of_row = lists.begin[unit + i + 1];
        int64_t last = first;
        while (last < last_of_row && lists.keys[last] < keys_end) ++last;
        at[i] = last;
        if (first < last) use(unit + i, first, last);
      }
  }
}

/// Columns of a panel's row in bytes, as it lies in memory.
template <class T>
int64_t row_bytes(const Panel<T>& x) {
  return panel::chunk_count(x.width()) * kPanelColumns * static_cast<int64_t>(sizeof(T));
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
