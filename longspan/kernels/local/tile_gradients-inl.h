// The gradients that one tile of queries contributes: the arithmetic of the backward pass, on panels alone.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_LOCAL_TILE_GRADIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_LOCAL_TILE_GRADIENTS_INL_H_
#undef LONGSPAN_KERNELS_LOCAL_TILE_GRADIENTS_INL_H_
#else
#define LONGSPAN_KERNELS_LOCAL_TILE_GRADIENTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "longspan/base/dropout.h"
#include "longspan/kernels/local/band-inl.h"
#include "longspan/simd/dropout-inl.h"
#include "longspan/simd/math-inl.h"
#include "longspan/simd/panel-inl.h"
#include "longspan/simd/pending_rows.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

inline constexpr int64_t kTileStride = kLocalTile * kPanelWidth;

/// Panels of the keys of one unit: rings with one order of rows.
template <class T>
struct UnitPanels {
  Ring ring;
  int64_t key_end;  ///< keys [ring.base, key_end) are seen by queries of the unit
  int64_t width, value_width;
  const T* keys;
  const T* values;
  T* dkeys;
  T* dvalues;
  bool exact_keys;  ///< a key of the unit is not finite
};

/// Panels of one tile.
template <class T>
struct TilePanels {
  HWY_ALIGN T shift[kLocalTile];  ///< log2(e) lse, +infinity for lanes without a query or without a weight
  HWY_ALIGN T delta[kLocalTile];  ///< <dout_i, out_i>
  HWY_ALIGN T dead[kLocalTile];   ///< -infinity for lanes without a query or without a weight, else 0
  T* query_rows;
  T* query_columns;
  T* dout_rows;
  T* dout_columns;
  T* dquery_rows;
  bool narrow;        ///< products with keys by patches, from rows: the columns are not filled
  bool exact_rows;    ///< a query or incoming gradient is not finite
  bool all_weighted;  ///< every query has a weight
};

/// Products of the keys of a block with the rows of a tile, [key][lane], in patches; zeros in those that the band
/// misses.
template <class T>
HWY_INLINE void band_products(const Tile& tile, int64_t block, const T* keys, int64_t chunk_stride, int64_t width,
                              const T* lanes, T* products) {
  const hn::CappedTag<T, panel::kPatch> d;
  for (int64_t k = 0; k < kLocalTile; k += panel::kPatch)
    for (int64_t lane = 0; lane < kLocalTile; lane += panel::kPatch) {
      T* to = products + k * kLocalTile + lane;
      if (tile.sees(block + k, lane, panel::kPatch)) {
        panel::dot_patch(keys + k * kPanelWidth, chunk_stride, lanes + lane * kPanelWidth, kTileStride, width, to);
        continue;
      }
      for (int64_t r = 0; r < panel::kPatch; ++r)
        for (int64_t c = 0; c < panel::kPatch; c += static_cast<int64_t>(hn::Lanes(d)))
          hn::Store(hn::Zero(d), d, to + r * kLocalTile + c);
    }
}

/// Weights p and score gradients ds = p (dp - delta) of one tile and one block of keys: [key][lane]. `kept`: the
/// factors f of dropout for the block, then the weights are f p and ds = p (f dp - delta); nullptr without dropout.
template <bool kWhole, class T>
HWY_INLINE void block_gradients(const Tile& tile, const DistanceScores<T>& distances, T scale, int64_t block,
                                const UnitPanels<T>& unit, const TilePanels<T>& rows, const T* kept, T* weights,
                                T* dscores) {
  const TileTag<T> d;
  using V = hn::Vec<TileTag<T>>;
  constexpr int N = panel::Blocking<T>::lanes;
  constexpr int64_t kVectors = panel::Blocking<T>::tile_vectors;
  const V minus_infinity = hn::Set(d, -std::numeric_limits<T>::infinity());
  const V scales = hn::Set(d, scale);
  const int64_t left = tile.keys - block;
  const T* positions = distances.at(tile.start - block);
  const auto weigh = [&](int64_t k, int64_t v, V sum) HWY_ATTR {
    V position = hn::LoadU(d, positions - k + v * N);
    if constexpr (!kWhole) position = k < left ? hn::Add(position, hn::Load(d, rows.dead + v * N)) : minus_infinity;
    const V score = hn::MulAdd(sum, scales, position);
    V p = panel::Exp2(d, hn::Sub(score, hn::Load(d, rows.shift + v * N)));
    // A select: a key that is not seen may be NaN.
    if constexpr (!kWhole) p = hn::IfThenZeroElse(hn::Eq(position, minus_infinity), p);
    hn::Store(p, d, weights + k * kLocalTile + v * N);
  };
  const auto differentiate = [&](int64_t k, int64_t v, V sum) HWY_ATTR {
    const int64_t at = k * kLocalTile + v * N;
    const V p = hn::Load(d, weights + at);
    if (kept != nullptr) {
      const V factor = hn::Load(d, kept + at);
      sum = hn::Mul(sum, factor);
      hn::Store(hn::Mul(p, factor), d, weights + at);
    }
    V ds = hn::Mul(p, hn::Sub(sum, hn::Load(d, rows.delta + v * N)));
    if constexpr (!kWhole) ds = hn::IfThenZeroElse(hn::Eq(p, hn::Zero(d)), ds);
    hn::Store(ds, d, dscores + at);
  };
  const int64_t chunk_stride = unit.ring.chunk_stride(), row = unit.ring.row(block);
  if (!kWhole && rows.narrow) {
    band_products(tile, block, unit.keys + row * kPanelWidth, chunk_stride, unit.width, rows.query_rows, weights);
    band_products(tile, block, unit.values + row * kPanelWidth, chunk_stride, unit.value_width, rows.dout_rows,
                  dscores);
    for (int64_t k = 0; k < kLocalTile; ++k)
      for (int64_t v = 0; v < kVectors; ++v) {
        weigh(k, v, hn::Load(d, weights + k * kLocalTile + v * N));
        differentiate(k, v, hn::Load(d, dscores + k * kLocalTile + v * N));
      }
    return;
  }
  for (int64_t k = 0; k < kLocalTile; k += panel::Blocking<T>::dot_rows) {
    const int64_t from = (row + k) * kPanelWidth;
    panel::dot_block(unit.keys + from, chunk_stride, unit.width, rows.query_columns,
                     [&](int r, int v, V sum) HWY_ATTR { weigh(k + r, v, sum); });
    panel::dot_block(unit.values + from, chunk_stride, unit.value_width, rows.dout_columns,
                     [&](int r, int v, V sum) HWY_ATTR { differentiate(k + r, v, sum); });
  }
}

/// Adds the products of one block with rows of the tile and of the unit: dq += ds k, dk += ds^T q, dv += p^T dout, in
/// groups of kRows lanes or keys; a group runs over everything that one of its members sees. With kRows = 1 no product
/// involves a row outside the window, which matters when that row is not finite. The first sum of a row starts from
/// zero and not from what its panel holds: for queries in the first block that the group sees, for keys where kFresh.
template <int kRows, class T>
HWY_INLINE void block_dqueries(const Tile& tile, int64_t block, const UnitPanels<T>& unit, const TilePanels<T>& rows,
                               const T* dscores, simd::PendingRows& pending) {
  const T* keys = unit.keys + unit.ring.row(block) * kPanelWidth;
  for (int64_t lane = tile.live / kRows * kRows; lane < tile.live_end; lane += kRows) {
    const int64_t first = tile.key_begin(std::max(lane, tile.live)) - block;
    const int64_t begin = std::max(first, int64_t{0});
    const int64_t end = std::min(tile.key_end(lane + kRows - 1) - block, kLocalTile);
    if (begin >= end || (kRows == 1 && rows.dead[lane] != 0)) continue;
    pending.step();
    T* to = rows.dquery_rows + lane * kPanelWidth;
    if (first >= 0)
      panel::update_rows<kRows, 1, kLocalTile, true>(dscores + lane, keys, unit.ring.chunk_stride(), begin, end,
                                                     unit.width, to, kTileStride);
    else
      panel::update_rows<kRows, 1, kLocalTile, false>(dscores + lane, keys, unit.ring.chunk_stride(), begin, end,
                                                      unit.width, to, kTileStride);
  }
}
template <int kRows, bool kFresh, class T>
HWY_INLINE void block_dkeys(const Tile& tile, int64_t block, const UnitPanels<T>& unit, const TilePanels<T>& rows,
                            const T* weights, const T* dscores, simd::PendingRows& pending) {
  const int64_t block_end = std::min(block + kLocalTile, tile.keys), chunk_stride = unit.ring.chunk_stride();
  for (int64_t j = block; j < block_end; j += kRows) {
    const int64_t begin = tile.lane_begin(j), end = tile.lane_end(j + kRows - 1), row = unit.ring.row(j);
    if (begin >= end) {
      if constexpr (kFresh) {
        panel::zero_rows(unit.value_width, kRows, unit.dvalues, chunk_stride, row);
        panel::zero_rows(unit.width, kRows, unit.dkeys, chunk_stride, row);
      }
      continue;
    }
    const int64_t from = (j - block) * kLocalTile, to = row * kPanelWidth;
    pending.step();
    panel::update_rows<kRows, kLocalTile, 1, kFresh>(weights + from, rows.dout_rows, kTileStride, begin, end,
                                                     unit.value_width, unit.dvalues + to, chunk_stride);
    panel::update_rows<kRows, kLocalTile, 1, kFresh>(dscores + from, rows.query_rows, kTileStride, begin, end,
                                                     unit.width, unit.dkeys + to, chunk_stride);
  }
}
template <class T>
HWY_NOINLINE void block_dqueries_exact(const Tile& tile, int64_t block, const UnitPanels<T>& unit,
                                       const TilePanels<T>& rows, const T* dscores, simd::PendingRows& pending) {
  block_dqueries<1>(tile, block, unit, rows, dscores, pending);
}
template <class T>
HWY_NOINLINE void block_dkeys_exact(const Tile& tile, int64_t block, bool fresh, const UnitPanels<T>& unit,
                                    const TilePanels<T>& rows, const T* weights, const T* dscores,
                                    simd::PendingRows& pending) {
  if (fresh)
    block_dkeys<1, true>(tile, block, unit, rows, weights, dscores, pending);
  else
    block_dkeys<1, false>(tile, block, unit, rows, weights, dscores, pending);
}

/// Everything that one tile of one query head contributes. Blocks from `fresh_from` on hold no sums of keys yet.
/// band_sums: see HeadWork. `pending`: what the next tile will need; fetched on the way.
template <class T>
HWY_NOINLINE void tile_gradients(const Tile& tile, const DistanceScores<T>& distances, T scale, int64_t fresh_from,
                                 const UnitPanels<T>& unit, const TilePanels<T>& rows, const HeadDropout& dropout,
                                 T* band_sums, simd::PendingRows& pending) {
  const TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  constexpr int kRows = panel::Blocking<T>::updated_rows;
  HWY_ALIGN T weights[kLocalTile * kLocalTile];
  HWY_ALIGN T dscores[kLocalTile * kLocalTile];
  HWY_ALIGN T kept_memory[kLocalTile * kLocalTile];
  const T* kept = dropout.active() ? kept_memory : nullptr;
  // Half of the steps in a block, those of its queries, and one before its scores: a share too large rather than late.
  pending.share((tile.last_key() - tile.first_block() + kLocalTile - 1) / kLocalTile * (kLocalTile / kRows + 1));
  for (int64_t block = tile.first_block(); block < tile.last_key(); block += kLocalTile) {
    if (kept != nullptr) panel::dropout_block(dropout, tile.start, block, static_cast<T>(dropout.scale()), kept_memory);
    pending.step();
    if (rows.all_weighted && tile.whole(block))
      block_gradients<true>(tile, distances, scale, block, unit, rows, kept, weights, dscores);
    else
      block_gradients<false>(tile, distances, scale, block, unit, rows, kept, weights, dscores);
    if (unit.exact_keys)
      block_dqueries_exact(tile, block, unit, rows, dscores, pending);
    else
      block_dqueries<kRows>(tile, block, unit, rows, dscores, pending);
    if (rows.exact_rows)
      block_dkeys_exact(tile, block, block >= fresh_from, unit, rows, weights, dscores, pending);
    else if (block >= fresh_from)
      block_dkeys<kRows, true>(tile, block, unit, rows, weights, dscores, pending);
    else
      block_dkeys<kRows, false>(tile, block, unit, rows, weights, dscores, pending);
    if (band_sums != nullptr) {
      T* sums = band_sums + (block - tile.start) * kLocalTile;
      for (int64_t i = 0; i < kLocalTile * kLocalTile; i += N)
        hn::Store(hn::Add(hn::Load(d, sums + i), hn::Load(d, dscores + i)), d, sums + i);
    }
  }
}

}  // namespace longspan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
