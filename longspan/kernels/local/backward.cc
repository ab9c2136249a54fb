#include "longspan/kernels/local/local.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/local/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/local/band-inl.h"
#include "longspan/kernels/local/units.h"
#include "longspan/simd/math-inl.h"
#include "longspan/simd/panel-inl.h"

#ifndef LONGSPAN_KERNELS_LOCAL_BACKWARD_SCRATCH_
#define LONGSPAN_KERNELS_LOCAL_BACKWARD_SCRATCH_
namespace longspan::kernels {
/// Scratch of one worker.
template <class T>
struct BackwardScratch {
  Scratch<T> keys, values, dkeys, dvalues, distances, band_sums;               ///< of the unit
  Scratch<T> query_rows, query_columns, dout_rows, dout_columns, dquery_rows;  ///< of the tile
};
}  // namespace longspan::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

inline constexpr int64_t kTileStride = kLocalTile * kPanelWidth;

/// The operands and results of one unit's (sequence, head); row 0 of the query side stands at key position `offset`.
template <class T>
struct UnitRows {
  RowsView<const T> q, k, v, out, lse, dout;
  RowsView<T> dq, dk, dv;
  int64_t width, value_width, offset, keys;

  UnitRows(const LocalBackward<T>& p, const LocalUnit& unit)
      : q(p.queries.at(p.q, unit.sequence, unit.head)),
        k(p.keys.at(p.k, unit.sequence, unit.head)),
        v(p.keys.at(p.v, unit.sequence, unit.head)),
        out(p.queries.at(p.out, unit.sequence, unit.head)),
        lse(p.queries.at(p.lse, unit.sequence, unit.head)),
        dout(p.queries.at(p.dout, unit.sequence, unit.head)),
        dq(p.queries.at(p.dq, unit.sequence, unit.head)),
        dk(p.keys.at(p.dk, unit.sequence, unit.head)),
        dv(p.keys.at(p.dv, unit.sequence, unit.head)),
        width(p.width),
        value_width(p.value_width),
        offset(query_offset(p, unit.sequence)),
        keys(p.keys.size(unit.sequence)) {}
};

/// Panels of one unit: rings with one order of rows.
template <class T>
struct UnitPanels {
  Ring ring;
  int64_t key_end;  ///< keys [ring.base, key_end) are seen by queries of the unit
  int64_t width, value_width;
  const T* keys;
  const T* values;
  T* dkeys;
  T* dvalues;
  T* band_sums;     ///< of a tile that begins at key 0, [key][lane]; nullptr when the table has no gradient
  bool exact_keys;  ///< a key of the unit is not finite
};

/// Panels of one tile.
template <class T>
struct TilePanels {
  HWY_ALIGN T shift[kLocalTile];  ///< log2(e) lse, +infinity for lanes without a query or without a weight
  HWY_ALIGN T delta[kLocalTile];  ///< <dout_i, out_i>
  HWY_ALIGN T dead[kLocalTile];   ///< -infinity for lanes without a query, else 0
  T* query_rows;
  T* query_columns;
  T* dout_rows;
  T* dout_columns;
  T* dquery_rows;
  bool exact_rows;  ///< a query or incoming gradient is not finite
};

/// Weights p and score gradients ds = p (dp - delta) of one tile and one block of keys: [key][lane].
template <bool kWhole, class T>
HWY_INLINE void block_gradients(const Tile& tile, const DistanceScores<T>& distances, T scale, int64_t block,
                                const UnitPanels<T>& unit, const TilePanels<T>& rows, T* weights, T* dscores) {
  const TileTag<T> d;
  using V = hn::Vec<TileTag<T>>;
  constexpr int N = panel::Blocking<T>::lanes;
  const V minus_infinity = hn::Set(d, -std::numeric_limits<T>::infinity());
  const V scales = hn::Set(d, scale);
  for (int64_t k = 0; k < kLocalTile; k += panel::Blocking<T>::dot_rows) {
    const int64_t row = unit.ring.row(block) + k;
    const int64_t left = tile.keys - block - k;
    const T* positions = distances.at(tile.start - block - k);
    T* weight = weights + k * kLocalTile;
    T* dscore = dscores + k * kLocalTile;
    panel::dot_block(unit.keys + row * kPanelWidth, unit.ring.chunk_stride(), unit.width, rows.query_columns,
                     [&](int r, int v, V sum) HWY_ATTR {
                       V position = hn::LoadU(d, positions - r + v * N);
                       if constexpr (!kWhole)
                         position = r < left ? hn::Add(position, hn::Load(d, rows.dead + v * N)) : minus_infinity;
                       const V score = hn::MulAdd(sum, scales, position);
                       V p = panel::Exp2(d, hn::Sub(score, hn::Load(d, rows.shift + v * N)));
                       // A select: a key that is not seen may be NaN.
                       if constexpr (!kWhole) p = hn::IfThenZeroElse(hn::Eq(position, minus_infinity), p);
                       hn::Store(p, d, weight + r * kLocalTile + v * N);
                     });
    panel::dot_block(unit.values + row * kPanelWidth, unit.ring.chunk_stride(), unit.value_width, rows.dout_columns,
                     [&](int r, int v, V sum) HWY_ATTR {
                       const V p = hn::Load(d, weight + r * kLocalTile + v * N);
                       V ds = hn::Mul(p, hn::Sub(sum, hn::Load(d, rows.delta + v * N)));
                       if constexpr (!kWhole) ds = hn::IfThenZeroElse(hn::Eq(p, hn::Zero(d)), ds);
                       hn::Store(ds, d, dscore + r * kLocalTile + v * N);
                     });
  }
}

/// Adds the products of one block with rows of the tile and of the unit: dq += ds k, dk += ds^T q, dv += p^T dout, in
/// groups of kRows lanes or keys; a group runs over everything that one of its members sees. With kRows = 1 no product
/// involves a row outside the window, which matters when that row is not finite.
template <int kRows, class T>
HWY_INLINE void block_dqueries(const Tile& tile, int64_t block, const UnitPanels<T>& unit, const TilePanels<T>& rows,
                               const T* dscores) {
  for (int64_t lane = tile.live / kRows * kRows; lane < tile.live_end; lane += kRows) {
    const int64_t begin = std::max(tile.key_begin(lane) - block, int64_t{0});
    const int64_t end = std::min(tile.key_end(lane + kRows - 1) - block, kLocalTile);
    if (begin >= end) continue;
    panel::update_rows<kRows, 1, kLocalTile, false>(dscores + lane, unit.keys + unit.ring.row(block) * kPanelWidth,
                                                    unit.ring.chunk_stride(), begin, end, unit.width,
                                                    rows.dquery_rows + lane * kPanelWidth, kTileStride);
  }
}
template <int kRows, class T>
HWY_INLINE void block_dkeys(const Tile& tile, int64_t block, const UnitPanels<T>& unit, const TilePanels<T>& rows,
                            const T* weights, const T* dscores) {
  const int64_t block_end = std::min(block + kLocalTile, tile.keys);
  for (int64_t j = block; j < block_end; j += kRows) {
    const int64_t begin = tile.lane_begin(j), end = tile.lane_end(j + kRows - 1);
    if (begin >= end) continue;
    const int64_t from = (j - block) * kLocalTile, to = (unit.ring.row(block) + j - block) * kPanelWidth;
    panel::update_rows<kRows, kLocalTile, 1, false>(weights + from, rows.dout_rows, kTileStride, begin, end,
                                                    unit.value_width, unit.dvalues + to, unit.ring.chunk_stride());
    panel::update_rows<kRows, kLocalTile, 1, false>(dscores + from, rows.query_rows, kTileStride, begin, end,
                                                    unit.width, unit.dkeys + to, unit.ring.chunk_stride());
  }
}
template <class T>
HWY_NOINLINE void block_dqueries_exact(const Tile& tile, int64_t block, const UnitPanels<T>& unit,
                                       const TilePanels<T>& rows, const T* dscores) {
  block_dqueries<1>(tile, block, unit, rows, dscores);
}
template <class T>
HWY_NOINLINE void block_dkeys_exact(const Tile& tile, int64_t block, const UnitPanels<T>& unit,
                                    const TilePanels<T>& rows, const T* weights, const T* dscores) {
  block_dkeys<1>(tile, block, unit, rows, weights, dscores);
}

/// Everything that one tile contributes.
template <class T>
HWY_INLINE void tile_gradients(const Tile& tile, const DistanceScores<T>& distances, T scale, const UnitPanels<T>& unit,
                               const TilePanels<T>& rows) {
  const TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  constexpr int kRows = panel::Blocking<T>::updated_rows;
  HWY_ALIGN T weights[kLocalTile * kLocalTile];
  HWY_ALIGN T dscores[kLocalTile * kLocalTile];
  for (int64_t block = tile.first_block(); block < tile.last_key(); block += kLocalTile) {
    if (tile.whole(block))
      block_gradients<true>(tile, distances, scale, block, unit, rows, weights, dscores);
    else
      block_gradients<false>(tile, distances, scale, block, unit, rows, weights, dscores);
    if (unit.exact_keys)
      block_dqueries_exact(tile, block, unit, rows, dscores);
    else
      block_dqueries<kRows>(tile, block, unit, rows, dscores);
    if (rows.exact_rows)
      block_dkeys_exact(tile, block, unit, rows, weights, dscores);
    else
      block_dkeys<kRows>(tile, block, unit, rows, weights, dscores);
    if (unit.band_sums != nullptr) {
      T* sums = unit.band_sums + (block - tile.start) * kLocalTile;
      for (int64_t i = 0; i < kLocalTile * kLocalTile; i += N)
        hn::Store(hn::Add(hn::Load(d, sums + i), hn::Load(d, dscores + i)), d, sums + i);
    }
  }
}

/// <a, b> over `width` elements, a in a panel row; lanes are summed in the target's fixed order.
template <class T>
HWY_INLINE T panel_dot(const T* a, int64_t chunk_stride, const T* b, int64_t width) {
  const TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  auto sum = hn::Zero(d);
  for (int64_t c = 0; c < width; c += N) {
    const T* from = a + c / kPanelWidth * chunk_stride + c % kPanelWidth;
    const auto y = c + N <= width ? hn::LoadU(d, b + c) : panel::LoadN(d, b + c, width - c);
    sum = hn::MulAdd(hn::Load(d, from), y, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Fills the panels of a tile from its query rows; dquery_rows with zeros.
template <class T>
HWY_INLINE void load_tile(const UnitRows<T>& rows, const Tile& tile, TilePanels<T>& panels) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto pack = [&](const RowsView<const T>& from, int64_t columns, T* to) HWY_ATTR {
    panel::zero_rows(columns, tile.live, to, kTileStride, 0);
    panel::zero_rows(columns, kLocalTile - tile.live_end, to, kTileStride, tile.live_end);
    return panel::pack_rows(from.data + (tile.start + tile.live - rows.offset) * from.row_stride, from.row_stride,
                            columns, tile.live_end - tile.live, to, kTileStride, tile.live);
  };
  const bool finite_queries = pack(rows.q, rows.width, panels.query_rows);
  const bool finite_douts = pack(rows.dout, rows.value_width, panels.dout_rows);
  panels.exact_rows = !(finite_queries && finite_douts);
  panel::transpose_tile(panels.query_rows, kTileStride, rows.width, panels.query_columns);
  panel::transpose_tile(panels.dout_rows, kTileStride, rows.value_width, panels.dout_columns);
  panel::zero_rows(rows.width, kLocalTile, panels.dquery_rows, kTileStride, 0);
  for (int64_t lane = 0; lane < kLocalTile; ++lane) {
    const bool alive = lane >= tile.live && lane < tile.live_end;
    const int64_t i = tile.start + lane - rows.offset;
    const T log_sum = alive ? rows.lse.data[i * rows.lse.row_stride] : kInfinity;
    panels.shift[lane] = log_sum == -kInfinity ? kInfinity : log_sum * static_cast<T>(panel::kLog2E);
    panels.dead[lane] = alive ? T(0) : -kInfinity;
    panels.delta[lane] = alive ? panel_dot(panels.dout_rows + lane * kPanelWidth, kTileStride,
                                           rows.out.data + i * rows.out.row_stride, rows.value_width)
                               : T(0);
  }
}

/// Prefetches the `count` query rows of the next tile.
template <class T>
HWY_INLINE void prefetch_tile(const UnitRows<T>& rows, int64_t first_row, int64_t count) {
  const auto prefetch = [&](const RowsView<const T>& from, int64_t columns) HWY_ATTR {
    panel::prefetch_rows(from.data + first_row * from.row_stride, from.row_stride, columns, count);
  };
  prefetch(rows.q, rows.width);
  prefetch(rows.dout, rows.value_width);
  prefetch(rows.out, rows.value_width);
}

/// Writes the gradients of keys [first, last), whose sums are complete or which no query of the unit sees: own keys to
/// dk and dv, others to the border (GradientSums).
template <class T>
HWY_INLINE void write_keys(const UnitRows<T>& rows, const LocalUnit& unit, Reach reach, const UnitPanels<T>& panels,
                           T scale, T* border, int64_t first, int64_t last) {
  const int64_t chunk_stride = panels.ring.chunk_stride();
  for (int64_t j = first; j < last; ++j) {
    T* dkey = rows.dk.data + j * rows.dk.row_stride;
    T* dvalue = rows.dv.data + j * rows.dv.row_stride;
    if (j < unit.first || j >= unit.last) {
      const int64_t index = reach.left + (j < unit.first ? j - unit.first : j - unit.last);
      dkey = border + index * (rows.width + rows.value_width);
      dvalue = dkey + rows.width;
    }
    if (j >= panels.ring.base && j < panels.key_end) {
      panel::store_row(panels.dkeys, chunk_stride, panels.ring.row(j), rows.width, scale, dkey);
      panel::store_row(panels.dvalues, chunk_stride, panels.ring.row(j), rows.value_width, T(1), dvalue);
    } else {
      std::fill(dkey, dkey + rows.width, T(0));
      std::fill(dvalue, dvalue + rows.value_width, T(0));
    }
  }
}

/// Sums the band of a unit by offset, into table[j - i + reach.left].
template <class T>
void add_band(const T* band_sums, Reach reach, double* table) {
  const int64_t left = panel::round_up(reach.left, kLocalTile),
                right = panel::round_up(reach.right + kLocalTile, kLocalTile);
  for (int64_t key = -left; key < right; ++key)
    for (int64_t lane = 0; lane < kLocalTile; ++lane) {
      const int64_t offset = key - lane;
      if (offset >= -reach.left && offset <= reach.right)
        table[offset + reach.left] += static_cast<double>(band_sums[key * kLocalTile + lane]);
    }
}

/// Gradients of one unit. Its own keys are written to dk and dv, those of its neighbours to `border`, the score sums to
/// `table` (GradientSums).
template <class T>
void backward_unit(const LocalBackward<T>& params, const LocalUnit& unit, BackwardScratch<T>& scratch, T* border,
                   double* table) {
  const UnitRows<T> in(params, unit);
  const int64_t width = in.width, value_width = in.value_width;
  const Reach reach = clamped_reach(params, in.keys);
  const int64_t first_query = std::max(unit.first, in.offset);
  const bool seen = first_query < unit.last;
  const int64_t base = seen ? std::max<int64_t>(first_query - reach.left, 0) / kLocalTile * kLocalTile : unit.last;

  UnitPanels<T> panels;
  panels.ring = Ring::around_band(reach, base);
  panels.key_end = seen ? std::min(unit.last + reach.right, in.keys) : base;
  panels.width = width;
  panels.value_width = value_width;
  const int64_t chunk_stride = panels.ring.chunk_stride();
  const int64_t panel_size = panel::chunk_count(width) * chunk_stride;
  const int64_t value_panel_size = panel::chunk_count(value_width) * chunk_stride;
  PackedRows<T> keys(in.k, width, panels.key_end, panels.ring, scratch.keys.reserve(panel_size));
  PackedRows<T> values(in.v, value_width, panels.key_end, panels.ring, scratch.values.reserve(value_panel_size));
  panels.keys = keys.row(base);
  panels.values = values.row(base);
  panels.dkeys = scratch.dkeys.reserve(panel_size);
  panels.dvalues = scratch.dvalues.reserve(value_panel_size);
  panels.band_sums = nullptr;
  if (table != nullptr) {
    const int64_t left = panel::round_up(reach.left, kLocalTile) * kLocalTile;
    const int64_t size = left + panel::round_up(reach.right + kLocalTile, kLocalTile) * kLocalTile;
    T* sums = scratch.band_sums.reserve(size);
    std::fill(sums, sums + size, T(0));
    panels.band_sums = sums + left;
  }
  TilePanels<T> tile_panels;
  tile_panels.query_rows = scratch.query_rows.reserve(panel::chunk_count(width) * kTileStride);
  tile_panels.query_columns = scratch.query_columns.reserve(panel::round_up(width, kLocalTile) * kLocalTile);
  tile_panels.dout_rows = scratch.dout_rows.reserve(panel::chunk_count(value_width) * kTileStride);
  tile_panels.dout_columns = scratch.dout_columns.reserve(panel::round_up(value_width, kLocalTile) * kLocalTile);
  tile_panels.dquery_rows = scratch.dquery_rows.reserve(panel::chunk_count(width) * kTileStride);

  const DistanceScores<T> distances(params, unit.head, reach,
                                    scratch.distances.reserve(DistanceScores<T>::size(reach)));
  const T scale = static_cast<T>(params.scale * panel::kLog2E);
  const T gradient_scale = static_cast<T>(params.scale);
  int64_t written = border != nullptr ? unit.first - reach.left : unit.first;  // of the keys that are ours to write
  const auto write_until = [&](int64_t last) HWY_ATTR {
    write_keys(in, unit, reach, panels, gradient_scale, border, written, last);
    written = std::max(written, last);
  };
  const int64_t tiles_end = seen ? unit.last : 0;
  for (int64_t start = first_query / kLocalTile * kLocalTile; start < tiles_end; start += kLocalTile) {
    const Tile tile = make_tile(reach, in.keys, first_query, unit.last, start);
    for (int64_t block = keys.packed(); block < tile.last_key(); block += kLocalTile) {
      panel::zero_rows(width, kLocalTile, panels.dkeys, chunk_stride, panels.ring.row(block));
      panel::zero_rows(value_width, kLocalTile, panels.dvalues, chunk_stride, panels.ring.row(block));
    }
    keys.pack_until(tile.last_key());
    values.pack_until(tile.last_key());
    panels.exact_keys = !keys.finite();
    load_tile(in, tile, tile_panels);
    const int64_t next = std::min(start + kLocalTile, unit.last);
    keys.prefetch();
    values.prefetch();
    prefetch_tile(in, next - in.offset, std::min(kLocalTile, unit.last - next));
    tile_gradients(tile, distances, scale, panels, tile_panels);
    for (int64_t lane = tile.live; lane < tile.live_end; ++lane)
      panel::store_row(tile_panels.dquery_rows, kTileStride, lane, width, gradient_scale,
                       in.dq.data + (start + lane - in.offset) * in.dq.row_stride);
    write_until(std::min(next - reach.left, unit.last));
  }
  write_until(border != nullptr ? unit.last + reach.right : unit.last);
  if (table != nullptr) {
    std::fill(table, table + reach.left + reach.right + 1, 0.0);
    add_band(panels.band_sums, reach, table);
  }
}

void backward_unit_float(const LocalBackward<float>& params, const LocalUnit& unit, BackwardScratch<float>& scratch,
                         float* border, double* table) {
  backward_unit(params, unit, scratch, border, table);
}
void backward_unit_double(const LocalBackward<double>& params, const LocalUnit& unit, BackwardScratch<double>& scratch,
                          double* border, double* table) {
  backward_unit(params, unit, scratch, border, table);
}

}  // namespace longspan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/kernels/local/gradient_sums.h"
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace {

HWY_EXPORT(backward_unit_float);
HWY_EXPORT(backward_unit_double);

template <class T, class UnitFunction>
void run_backward(const LocalBackward<T>& params, const Parallel& parallel, UnitFunction unit_function) {
  check_local(params);
  const LocalUnits units(params, backward_unit_length(params), false);
  GradientSums<T> sums(params, units);
  std::vector<BackwardScratch<T>> scratch(static_cast<std::size_t>(parallel.workers()));
  parallel.run(units.count(), [&](int64_t index, int worker) {
    const LocalUnit unit = units[index];
    const Reach reach = clamped_reach(params, params.keys.size(unit.sequence));
    unit_function(params, unit, scratch[static_cast<std::size_t>(worker)], sums.border(unit, reach),
                  sums.table(unit, reach));
  });
  parallel.run(units.count(), [&](int64_t index, int) { sums.add_borders(units[index]); });
  sums.write_table(parallel);
}

}  // namespace

void local_backward(const LocalBackward<float>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_backward(params, parallel, HWY_DYNAMIC_DISPATCH(backward_unit_float));
}
void local_backward(const LocalBackward<double>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_backward(params, parallel, HWY_DYNAMIC_DISPATCH(backward_unit_double));
}

}  // namespace longspan::kernels
#endif  // HWY_ONCE
