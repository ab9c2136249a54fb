// Panels: rows packed for register-blocked products, the transposition of a tile, and the two products.
//
// A panel holds rows of any width as chunks of kPanelWidth columns, [chunk][row][kPanelWidth]: the row stride is a
// compile-time constant, so a product addresses many rows from one register, and every load is aligned. Columns behind
// the width are zero up to the next full vector. A tile is kTile rows; its transpose is [column][kTile].
//
// Every element of a product is one chain of fused multiply-adds in ascending order of the reduction index, starting
// from zero (or from what stands in the destination): its bits do not depend on which block it was computed in.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_SIMD_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_SIMD_PANEL_INL_H_
#undef LONGSPAN_SIMD_PANEL_INL_H_
#else
#define LONGSPAN_SIMD_PANEL_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "longspan/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kTile = 16;
inline constexpr int64_t kPanelWidth = 64;

/// The widest vector of the target, at most one tile.
template <class T>
using TileTag = hn::CappedTag<T, kTile>;

/// Blocking by registers: 32 of them from AVX-512 on, else 16.
inline constexpr int kPanelAccumulators = HWY_TARGET <= HWY_AVX3 ? 16 : 8;
template <class T>
struct Blocking {
  static constexpr int lanes = static_cast<int>(HWY_MAX_BYTES < kTile * sizeof(T) ? HWY_MAX_BYTES / sizeof(T) : kTile);
  static constexpr int tile_vectors = static_cast<int>(kTile) / lanes;  ///< vectors of a transposed row
  static constexpr int dot_rows = kPanelAccumulators / tile_vectors > 0 ? kPanelAccumulators / tile_vectors : 1;
  static constexpr int updated_rows = 4;
  static constexpr int update_vectors = kPanelAccumulators / updated_rows;
};

constexpr int64_t round_up(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }
constexpr int64_t chunk_count(int64_t width) { return (width + kPanelWidth - 1) / kPanelWidth; }
/// Columns of `chunk` that exist.
constexpr int64_t chunk_width(int64_t width, int64_t chunk) {
  const int64_t left = width - chunk * kPanelWidth;
  return left < kPanelWidth ? left : kPanelWidth;
}

/// Packs `count` rows of `width` columns at `source` into rows [row, row + count) of a panel whose chunks are
/// `chunk_stride` elements apart. Returns whether all elements are finite.
template <class T, class S>
HWY_INLINE bool pack_rows(const S* source, int64_t row_stride, int64_t width, int64_t count, T* panel,
                          int64_t chunk_stride, int64_t row) {
  const TileTag<T> d;
  constexpr int64_t N = Blocking<T>::lanes;
  const auto zero = hn::Zero(d);
  // x * 0 is 0 unless x is infinite or NaN. Two sums, so that the next need not wait for the last.
  auto check = zero, other = zero;
  for (int64_t chunk = 0; chunk < chunk_count(width); ++chunk) {
    const int64_t columns = chunk_width(width, chunk);
    const int64_t full = columns / N * N;
    for (int64_t r = 0; r < count; ++r) {
      const S* from = source + r * row_stride + chunk * kPanelWidth;
      T* to = panel + chunk * chunk_stride + (row + r) * kPanelWidth;
      int64_t c = 0;
      for (; c + N < full; c += 2 * N) {
        const auto x = LoadFrom(d, from + c), y = LoadFrom(d, from + c + N);
        check = hn::MulAdd(x, zero, check);
        other = hn::MulAdd(y, zero, other);
        hn::Store(x, d, to + c);
        hn::Store(y, d, to + c + N);
      }
      for (; c < full; c += N) {
        const auto x = LoadFrom(d, from + c);
        check = hn::MulAdd(x, zero, check);
        hn::Store(x, d, to + c);
      }
      if (c < columns) {
        const auto x = LoadN(d, from + c, columns - full);
        check = hn::MulAdd(x, zero, check);
        hn::Store(x, d, to + c);
      }
    }
  }
  return hn::AllTrue(d, hn::Eq(hn::Add(check, other), zero));
}

/// Asks for `count` rows of `width` columns ahead of their use: rows of one head lie far apart in a [row, head, width]
/// tensor, where the processor's own prefetching does not follow.
template <class T>
HWY_INLINE void prefetch_rows(const T* source, int64_t row_stride, int64_t width, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t r = 0; r < count; ++r)
    for (int64_t c = 0; c < width; c += kLine) hwy::Prefetch(source + r * row_stride + c);
}

/// Zeros in rows [row, row + count) of a panel, up to the vector that holds the last column.
template <class T>
HWY_INLINE void zero_rows(int64_t width, int64_t count, T* panel, int64_t chunk_stride, int64_t row) {
  const TileTag<T> d;
  constexpr int64_t N = Blocking<T>::lanes;
  // A zero that the compiler cannot see: GCC would make one string instruction of each row, ten times as slow.
  const volatile T nothing = 0;
  const auto zero = hn::Set(d, nothing);
  for (int64_t chunk = 0; chunk < chunk_count(width); ++chunk)
    for (int64_t r = row; r < row + count; ++r)
      for (int64_t c = 0; c < chunk_width(width, chunk); c += N)
        hn::Store(zero, d, panel + chunk * chunk_stride + r * kPanelWidth + c);
}

/// Writes row `row` of a panel times `factor` to `target`. Zeros come out as +0: a masked product may have left -0
/// where a shorter chain would leave +0, and bits must not tell.
template <class T, class S>
HWY_INLINE void store_row(const T* panel, int64_t chunk_stride, int64_t row, int64_t width, T factor, S* target) {
  const TileTag<T> d;
  constexpr int64_t N = Blocking<T>::lanes;
  const auto scale = hn::Set(d, factor);
  const auto zero = hn::Zero(d);
  for (int64_t chunk = 0; chunk < chunk_count(width); ++chunk) {
    const T* from = panel + chunk * chunk_stride + row * kPanelWidth;
    S* to = target + chunk * kPanelWidth;
    const int64_t columns = chunk_width(width, chunk);
    int64_t c = 0;
    for (; c + N <= columns; c += N) StoreTo(d, hn::MulAdd(hn::Load(d, from + c), scale, zero), to + c);
    if (c < columns) StoreN(d, hn::MulAdd(hn::Load(d, from + c), scale, zero), to + c, columns - c);
  }
}

/// Transposes kTile rows of `width` columns, row_stride apart and aligned to 16 bytes: columns[c * stride + r] for
/// every c < width (and what stands behind the width, up to a full 16-byte group).
template <class T>
HWY_INLINE void transpose_rows(const T* source, int64_t row_stride, int64_t width, T* columns, int64_t stride) {
  const TileTag<T> d;
  using V = hn::Vec<TileTag<T>>;
  constexpr int kGroup = 16 / sizeof(T);  // columns that one 128-bit block holds
  constexpr int N = Blocking<T>::lanes;
  constexpr int kBlocks = N / kGroup;
  for (int64_t c = 0; c < width; c += kGroup) {
    const T* from = source + c;
    T* to = columns + c * stride;
    for (int v = 0; v < Blocking<T>::tile_vectors; ++v) {
      const T* rows = from + v * N * row_stride;
      // a[r] holds, in block b, the group of row b * kGroup + r.
      V a[kGroup];
      for (int r = 0; r < kGroup; ++r) {
        a[r] = hn::LoadDup128(d, rows + r * row_stride);
        for (int b = 1; b < kBlocks; ++b)
          a[r] =
              hn::IfThenElse(hn::FirstN(d, b * kGroup), a[r], hn::LoadDup128(d, rows + (b * kGroup + r) * row_stride));
      }
      if constexpr (kGroup == 4) {
        const V even_low = hn::InterleaveLower(d, a[0], a[2]), even_high = hn::InterleaveUpper(d, a[0], a[2]);
        const V odd_low = hn::InterleaveLower(d, a[1], a[3]), odd_high = hn::InterleaveUpper(d, a[1], a[3]);
        hn::Store(hn::InterleaveLower(d, even_low, odd_low), d, to + v * N);
        hn::Store(hn::InterleaveUpper(d, even_low, odd_low), d, to + v * N + stride);
        hn::Store(hn::InterleaveLower(d, even_high, odd_high), d, to + v * N + 2 * stride);
        hn::Store(hn::InterleaveUpper(d, even_high, odd_high), d, to + v * N + 3 * stride);
      } else {
        hn::Store(hn::InterleaveLower(d, a[0], a[1]), d, to + v * N);
        hn::Store(hn::InterleaveUpper(d, a[0], a[1]), d, to + v * N + stride);
      }
    }
  }
}

/// Transposes the first kTile rows of a panel: columns[c][r] for every c < width (and zeros behind it, up to a full
/// 16-byte group), c running over all chunks.
template <class T>
HWY_INLINE void transpose_tile(const T* panel, int64_t chunk_stride, int64_t width, T* columns) {
  for (int64_t chunk = 0; chunk < chunk_count(width); ++chunk)
    transpose_rows(panel + chunk * chunk_stride, kPanelWidth, chunk_width(width, chunk),
                   columns + chunk * kPanelWidth * kTile, kTile);
}

/// Products of dot_rows panel rows with a transposed tile: calls `use(row, v, sum)` for row < dot_rows and each vector
/// v of the tile, sum[lane] = sum over c < width of rows[row][c] * columns[c][v * lanes + lane].
template <class T, class Use>
HWY_INLINE void dot_block(const T* rows, int64_t chunk_stride, int64_t width, const T* columns, const Use& use) {
  const TileTag<T> d;
  using V = hn::Vec<TileTag<T>>;
  constexpr int kRows = Blocking<T>::dot_rows;
  constexpr int kVectors = Blocking<T>::tile_vectors;
  constexpr int N = Blocking<T>::lanes;
  V sum[kRows * kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kVectors; ++i) sum[i] = hn::Zero(d);
  for (int64_t chunk = 0; chunk < chunk_count(width); ++chunk) {
    const T* a = rows + chunk * chunk_stride;
    const T* end = a + chunk_width(width, chunk);
#pragma GCC unroll 2
    for (; a < end; ++a, columns += kTile) {
      V column[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) column[v] = hn::Load(d, columns + v * N);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const V x = hn::Set(d, a[r * kPanelWidth]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[r * kVectors + v] = hn::MulAdd(x, column[v], sum[r * kVectors + v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) use(r, v, sum[r * kVectors + v]);
  }
}

/// Rows of a patch, see dot_patch.
inline constexpr int64_t kPatch = 4;

/// Sum of the 128-bit blocks of a vector.
template <class D, class V>
HWY_INLINE auto sum_of_blocks(D d, V v) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) <= 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// sums[r * kTile + c] = <row r of `a`, row c of `b`> for kPatch rows of each, both panels of `width` columns. Where
/// only a part of the pairs of two tiles is wanted this does that part alone, unlike dot_block. Lanes are partial sums
/// over the width, added up in one fixed order: the bits do not depend on where the rows stand.
template <class T>
HWY_INLINE void dot_patch(const T* a, int64_t a_chunk_stride, const T* b, int64_t b_chunk_stride, int64_t width,
                          T* sums) {
  const TileTag<T> d;
  using V = hn::Vec<TileTag<T>>;
  constexpr int N = Blocking<T>::lanes;
  constexpr int kColumns = static_cast<int>(kPatch);
  constexpr int kRows = kPanelAccumulators / kColumns;  // of `a`, at a time
  constexpr int kGroup = 16 / sizeof(T);                // sums that one 128-bit block holds
  const hn::CappedTag<T, kGroup> block;
  for (int64_t row = 0; row < kPatch; row += kRows) {
    V sum[kRows * kColumns];
#pragma GCC unroll 16
    for (int i = 0; i < kRows * kColumns; ++i) sum[i] = hn::Zero(d);
    for (int64_t chunk = 0; chunk < chunk_count(width); ++chunk) {
      const T* x = a + chunk * a_chunk_stride + row * kPanelWidth;
      const T* y = b + chunk * b_chunk_stride;
      for (const T* end = x + chunk_width(width, chunk); x < end; x += N, y += N) {
        V column[kColumns];
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) column[c] = hn::Load(d, y + c * kPanelWidth);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const V value = hn::Load(d, x + r * kPanelWidth);
#pragma GCC unroll 4
          for (int c = 0; c < kColumns; ++c)
            sum[r * kColumns + c] = hn::MulAdd(value, column[c], sum[r * kColumns + c]);
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; c += kGroup) {
        const V* s = sum + r * kColumns + c;
        // Pairs of lanes of two (four) sums, side by side in every block.
        V pair = hn::Add(hn::InterleaveLower(d, s[0], s[1]), hn::InterleaveUpper(d, s[0], s[1]));
        if constexpr (kGroup == 4) {
          const hn::RepartitionToWide<TileTag<T>> wide;
          const auto first = hn::BitCast(wide, pair);
          const auto second =
              hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, s[2], s[3]), hn::InterleaveUpper(d, s[2], s[3])));
          pair = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, first, second)),
                         hn::BitCast(d, hn::InterleaveUpper(wide, first, second)));
        }
        hn::Store(sum_of_blocks(d, pair), block, sums + (row + r) * kTile + c);
      }
    }
  }
}

/// c[r][columns of kVectors vectors] += sum over k in [first, last) of a[r * kRowStride + k * kStride] * b[k][...], for
/// kRows rows; b and c are panel rows. kFresh starts from zero instead of c.
template <int kRows, int kVectors, int kRowStride, int kStride, bool kFresh, class T>
HWY_INLINE void update_block(const T* a, const T* b, int64_t first, int64_t last, T* c) {
  const TileTag<T> d;
  using V = hn::Vec<TileTag<T>>;
  constexpr int N = Blocking<T>::lanes;
  V sum[kRows * kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sum[r * kVectors + v] = kFresh ? hn::Zero(d) : hn::Load(d, c + r * kPanelWidth + v * N);
  }
  const T* end = b + last * kPanelWidth;
  a += first * kStride;
  b += first * kPanelWidth;
#pragma GCC unroll 2
  for (; b < end; b += kPanelWidth, a += kStride) {
    V row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = hn::Load(d, b + v * N);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r * kRowStride]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r * kVectors + v] = hn::MulAdd(x, row[v], sum[r * kVectors + v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[r * kVectors + v], d, c + r * kPanelWidth + v * N);
  }
}

/// update_block over the first `columns` columns (rounded up to whole vectors) of one chunk.
template <int kRows, int kRowStride, int kStride, bool kFresh, class T>
HWY_INLINE void update_chunk(const T* a, const T* b, int64_t first, int64_t last, int64_t columns, T* c) {
  constexpr int64_t N = Blocking<T>::lanes;
  constexpr int kVectors = Blocking<T>::update_vectors;
  int64_t at = 0;
  for (; at + (kVectors - 1) * N < columns; at += kVectors * N)
    update_block<kRows, kVectors, kRowStride, kStride, kFresh>(a, b + at, first, last, c + at);
  // One vector at a time has too few independent sums to keep the multipliers busy.
  if constexpr (kVectors > 2)
    for (; at + N < columns; at += 2 * N)
      update_block<kRows, 2, kRowStride, kStride, kFresh>(a, b + at, first, last, c + at);
  for (; at < columns; at += N) update_block<kRows, 1, kRowStride, kStride, kFresh>(a, b + at, first, last, c + at);
}

/// c[r][:] += sum over k in [first, last) of a[r * kRowStride + k * kStride] * b[k][:] for kRows rows of `width`
/// columns; b and c are panels with the given chunk strides. kFresh starts from zero instead of c.
template <int kRows, int kRowStride, int kStride, bool kFresh, class T>
HWY_INLINE void update_rows(const T* a, const T* b, int64_t b_chunk_stride, int64_t first, int64_t last, int64_t width,
                            T* c, int64_t c_chunk_stride) {
  for (int64_t chunk = 0; chunk < chunk_count(width); ++chunk)
    update_chunk<kRows, kRowStride, kStride, kFresh>(a, b + chunk * b_chunk_stride, first, last,
                                                     chunk_width(width, chunk), c + chunk * c_chunk_stride);
}

}  // namespace longspan::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
