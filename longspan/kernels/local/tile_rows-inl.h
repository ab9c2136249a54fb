// The rows of one query head in memory, and the panels of a tile that the backward pass fills from them.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_LOCAL_TILE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_LOCAL_TILE_ROWS_INL_H_
#undef LONGSPAN_KERNELS_LOCAL_TILE_ROWS_INL_H_
#else
#define LONGSPAN_KERNELS_LOCAL_TILE_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "longspan/kernels/local/band-inl.h"
#include "longspan/kernels/local/tile_gradients-inl.h"
#include "longspan/simd/panel-inl.h"
#include "longspan/simd/pending_rows.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// The operands and results of one query head of a unit; row 0 stands at key position `offset`.
template <class S, class O>
struct HeadRows {
  RowsView<const S> q;
  RowsView<const O> out, dout;
  RowsView<const Computed<S>> lse;
  RowsView<S> dq;
  int64_t width, value_width, offset;

  HeadRows(const LocalBackward<S, O>& p, const LocalUnit& unit, int64_t head)
      : q(p.queries.at(p.q, unit.sequence, head)),
        out(p.queries.at(p.out, unit.sequence, head)),
        dout(p.queries.at(p.dout, unit.sequence, head)),
        lse(p.queries.at(p.lse, unit.sequence, head)),
        dq(p.queries.at(p.dq, unit.sequence, head)),
        width(p.width),
        value_width(p.value_width),
        offset(query_offset(p, unit.sequence)) {}
};

/// <a, b> over `width` elements, a in a panel row; lanes are summed in the target's fixed order.
template <class T, class O>
HWY_INLINE T panel_dot(const T* a, int64_t chunk_stride, const O* b, int64_t width) {
  const TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  auto sum = hn::Zero(d);
  for (int64_t c = 0; c < width; c += N) {
    const T* from = a + c / kPanelWidth * chunk_stride + c % kPanelWidth;
    const auto y = c + N <= width ? panel::LoadFrom(d, b + c) : panel::LoadN(d, b + c, width - c);
    sum = hn::MulAdd(hn::Load(d, from), y, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Fills the panels of a tile from its query rows; dquery_rows with zeros where a query has no weight. Columns are
/// filled unless the band is narrow.
template <class S, class O>
HWY_INLINE void load_tile(const HeadRows<S, O>& rows, const Tile& tile, TilePanels<Computed<S>>& panels) {
  using T = Computed<S>;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto pack = [&](const auto& from, int64_t columns, T* to) HWY_ATTR {
    panel::zero_rows(columns, tile.live, to, kTileStride, 0);
    panel::zero_rows(columns, kLocalTile - tile.live_end, to, kTileStride, tile.live_end);
    return panel::pack_rows(from.data + (tile.start + tile.live - rows.offset) * from.row_stride, from.row_stride,
                            columns, tile.live_end - tile.live, to, kTileStride, tile.live);
  };
  const bool finite_queries = pack(rows.q, rows.width, panels.query_rows);
  const bool finite_douts = pack(rows.dout, rows.value_width, panels.dout_rows);
  panels.exact_rows = !(finite_queries && finite_douts);
  panels.all_weighted = true;
  for (int64_t lane = 0; lane < kLocalTile; ++lane) {
    const bool alive = lane >= tile.live && lane < tile.live_end;
    const int64_t i = tile.start + lane - rows.offset;
    const T log_sum = alive ? rows.lse.data[i * rows.lse.row_stride] : -kInfinity;
    const bool weighted = log_sum != -kInfinity;
    panels.shift[lane] = weighted ? log_sum * static_cast<T>(panel::kLog2E) : kInfinity;
    panels.dead[lane] = weighted ? T(0) : -kInfinity;
    panels.delta[lane] = weighted ? panel_dot(panels.dout_rows + lane * kPanelWidth, kTileStride,
                                              rows.out.data + i * rows.out.row_stride, rows.value_width)
                                  : T(0);
    if (weighted || !alive) continue;
    // A row without a finite score gives no gradient, whatever stands in it.
    panels.all_weighted = false;
    panel::zero_rows(rows.width, 1, panels.query_rows, kTileStride, lane);
    panel::zero_rows(rows.value_width, 1, panels.dout_rows, kTileStride, lane);
    panel::zero_rows(rows.width, 1, panels.dquery_rows, kTileStride, lane);
  }
  if (panels.narrow) return;
  panel::transpose_tile(panels.query_rows, kTileStride, rows.width, panels.query_columns);
  panel::transpose_tile(panels.dout_rows, kTileStride, rows.value_width, panels.dout_columns);
}

/// Adds the `count` query rows of a tile that load_tile will read.
template <class S, class O>
HWY_INLINE void add_tile(const HeadRows<S, O>& rows, int64_t first_row, int64_t count, simd::PendingRows& pending) {
  const auto add = [&](const auto& from, int64_t columns) {
    pending.add(from.data + first_row * from.row_stride, from.row_stride, columns, count);
  };
  add(rows.q, rows.width);
  add(rows.dout, rows.value_width);
  add(rows.out, rows.value_width);
}

}  // namespace longspan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
