#include "longspan/kernels/local/local.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/local/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/local/band-inl.h"
#include "longspan/kernels/local/gradient_sums.h"
#include "longspan/kernels/local/tile_gradients-inl.h"
#include "longspan/kernels/local/tile_rows-inl.h"
#include "longspan/kernels/local/units.h"
#include "longspan/simd/math-inl.h"
#include "longspan/simd/panel-inl.h"
#include "longspan/simd/pending_rows.h"

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

/// One query head of a unit.
template <class S, class O>
struct HeadWork {
  int64_t head;
  HeadRows<S, O> rows;
  DistanceScores<Computed<S>> distances;
  Computed<S>* band_sums;  ///< of a tile that begins at key 0, [key][lane]; nullptr when the table has no gradient
};

/// Writes gradients of keys whose sums are complete, or which no query of the unit sees, where they belong.
template <class S>
struct KeyWriter {
  using T = Computed<S>;
  RowsView<S> dk, dv;
  Reach reach;
  SharedKeys shared;
  UnitSums<T> sums;
  T scale;
  int64_t written;  ///< the keys before this one have been written

  /// Writes keys [written, last).
  HWY_INLINE void write_until(const UnitPanels<T>& panels, int64_t last) {
    for (; written < last; ++written) {
      const int64_t j = written;
      if (j < shared.first || j >= shared.last)
        write(panels, j, sums.border, reach.left + (j < shared.first ? j - shared.first : j - shared.last));
      else if (sums.own != nullptr && shared.holds(j))
        write(panels, j, sums.own, shared.own_row(j));
      else
        write_row(panels, j, dk.data + j * dk.row_stride, dv.data + j * dv.row_stride);
    }
  }
  /// Adds the rows of dk and dv that write_until(last) will write.
  HWY_INLINE void prefetch(int64_t last, const UnitPanels<T>& panels, simd::PendingRows& pending) const {
    const int64_t first = std::max(written, shared.first);
    pending.add(dk.data + first * dk.row_stride, dk.row_stride, panels.width, last - first);
    pending.add(dv.data + first * dv.row_stride, dv.row_stride, panels.value_width, last - first);
  }

 private:
  HWY_INLINE void write(const UnitPanels<T>& panels, int64_t j, T* rows, int64_t index) const {
    T* to = rows + index * (panels.width + panels.value_width);
    write_row(panels, j, to, to + panels.width);
  }
  template <class To>
  HWY_INLINE void write_row(const UnitPanels<T>& panels, int64_t j, To* dkey, To* dvalue) const {
    if (j >= panels.ring.base && j < panels.key_end) {
      const int64_t chunk_stride = panels.ring.chunk_stride(), row = panels.ring.row(j);
      panel::store_row(panels.dkeys, chunk_stride, row, panels.width, scale, dkey);
      panel::store_row(panels.dvalues, chunk_stride, row, panels.value_width, T(1), dvalue);
    } else {
      std::fill(dkey, dkey + panels.width, To(0.0f));
      std::fill(dvalue, dvalue + panels.value_width, To(0.0f));
    }
  }
};

/// Sums the band of a head by offset, into table[j - i + reach.left].
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

/// Whether products with keys by patches are faster: the more of the two blocks at the ends of a band is masked, and
/// the wider the rows over which a patch adds its lanes up. Asks what a call is given and not what a sequence is cut
/// to, so that the bits of a row do not depend on its length.
template <class S>
bool narrow_band(const LocalParams<S>& params) {
  constexpr int64_t kReaches = kLocalTile, kWidth = 64;
  return params.reach_left < kReaches && params.reach_right < kReaches - params.reach_left &&
         std::min(params.width, params.value_width) >= kWidth;
}

/// Panels of the tile under way, in scratch.
template <class T>
void reserve_tile(int64_t width, int64_t value_width, BackwardScratch<T>& scratch, TilePanels<T>& panels) {
  panels.query_rows = scratch.query_rows.reserve(panel::chunk_count(width) * kTileStride);
  panels.query_columns = scratch.query_columns.reserve(panel::round_up(width, kLocalTile) * kLocalTile);
  panels.dout_rows = scratch.dout_rows.reserve(panel::chunk_count(value_width) * kTileStride);
  panels.dout_columns = scratch.dout_columns.reserve(panel::round_up(value_width, kLocalTile) * kLocalTile);
  panels.dquery_rows = scratch.dquery_rows.reserve(panel::chunk_count(width) * kTileStride);
}

/// The query heads of a unit, with their band sums at zero.
template <class S, class O>
std::vector<HeadWork<S, O>> head_works(const LocalBackward<S, O>& params, const LocalUnit& unit, Reach reach,
                                       BackwardScratch<Computed<S>>& scratch) {
  using T = Computed<S>;
  const HeadGroup group = head_group(params, unit.key_head);
  const int64_t count = group.last - group.first, distances_size = DistanceScores<T>::size(reach);
  const int64_t left = panel::round_up(reach.left, kLocalTile) * kLocalTile;
  const int64_t band_size = left + panel::round_up(reach.right + kLocalTile, kLocalTile) * kLocalTile;
  T* distances = scratch.distances.reserve(count * distances_size);
  T* band_sums = nullptr;
  if (params.dtable != nullptr) {
    band_sums = scratch.band_sums.reserve(count * band_size);
    std::fill(band_sums, band_sums + count * band_size, T(0));
  }
  std::vector<HeadWork<S, O>> works;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t head = group.first + i;
    works.push_back({head, HeadRows<S, O>(params, unit, head),
                     DistanceScores<T>(params, head, reach, distances + i * distances_size),
                     band_sums != nullptr ? band_sums + i * band_size + left : nullptr});
  }
  return works;
}

/// Gradients of one unit. Those of its keys are sums over the query heads in ascending order within each tile.
template <class S, class O>
void backward_unit(const LocalBackward<S, O>& params, const LocalUnit& unit, BackwardScratch<Computed<S>>& scratch,
                   GradientSums<S, O>& sums) {
  using T = Computed<S>;
  const int64_t width = params.width, value_width = params.value_width;
  const int64_t key_count = params.keys.size(unit.sequence), offset = query_offset(params, unit.sequence);
  const Reach reach = clamped_reach(params, key_count);
  const int64_t first_query = std::max(unit.first, offset);
  const bool seen = first_query < unit.last;
  const int64_t base = seen ? std::max<int64_t>(first_query - reach.left, 0) / kLocalTile * kLocalTile : unit.last;

  UnitPanels<T> panels;
  panels.ring = Ring::around_band(reach, base);
  panels.key_end = seen ? std::min(unit.last + reach.right, key_count) : base;
  panels.width = width;
  panels.value_width = value_width;
  const int64_t chunk_stride = panels.ring.chunk_stride();
  const int64_t panel_size = panel::chunk_count(width) * chunk_stride;
  const int64_t value_panel_size = panel::chunk_count(value_width) * chunk_stride;
  PackedRows<S> keys(params.keys.at(params.k, unit.sequence, unit.key_head), width, panels.key_end, panels.ring,
                     scratch.keys.reserve(panel_size));
  PackedRows<S> values(params.keys.at(params.v, unit.sequence, unit.key_head), value_width, panels.key_end, panels.ring,
                       scratch.values.reserve(value_panel_size));
  panels.keys = keys.row(base);
  panels.values = values.row(base);
  panels.dkeys = scratch.dkeys.reserve(panel_size);
  panels.dvalues = scratch.dvalues.reserve(value_panel_size);
  TilePanels<T> tile_panels;
  tile_panels.narrow = narrow_band(params);
  reserve_tile(width, value_width, scratch, tile_panels);

  const std::vector<HeadWork<S, O>> heads = head_works(params, unit, reach, scratch);
  const T scale = static_cast<T>(params.scale * panel::kLog2E);
  const T gradient_scale = static_cast<T>(params.scale);
  const UnitSums<T> unit_sums = sums.unit(unit, reach);
  const bool alone = unit_sums.border == nullptr;
  KeyWriter<S> writer{params.keys.at(params.dk, unit.sequence, unit.key_head),
                      params.keys.at(params.dv, unit.sequence, unit.key_head),
                      reach,
                      sums.shared_keys(unit, reach),
                      unit_sums,
                      gradient_scale,
                      alone ? unit.first : unit.first - reach.left};
  simd::PendingRows pending;
  const int64_t tiles_end = seen ? unit.last : 0;
  for (int64_t start = first_query / kLocalTile * kLocalTile; start < tiles_end; start += kLocalTile) {
    const Tile tile = make_tile(reach, key_count, first_query, unit.last, start);
    const int64_t fresh_from = keys.packed();
    keys.pack_until(tile.last_key());
    values.pack_until(tile.last_key());
    panels.exact_keys = !keys.finite();
    const int64_t next = std::min(start + kLocalTile, unit.last);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const HeadWork<S, O>& work = heads[i];
      load_tile(work.rows, tile, tile_panels);
      pending.clear();
      pending.add(work.rows.dq.data + (start + tile.live - offset) * work.rows.dq.row_stride, work.rows.dq.row_stride,
                  width, tile.live_end - tile.live);
      if (i + 1 < heads.size()) {
        add_tile(heads[i + 1].rows, start + tile.live - offset, tile.live_end - tile.live, pending);
      } else {
        writer.prefetch(std::min(next - reach.left, unit.last), panels, pending);
        keys.prefetch(pending);
        values.prefetch(pending);
        add_tile(heads[0].rows, next - offset, std::min(kLocalTile, unit.last - next), pending);
      }
      tile_gradients(tile, work.distances, scale, i == 0 ? fresh_from : tile.last_key(), panels, tile_panels,
                     head_dropout(params, unit.sequence, work.head), work.band_sums, pending);
      for (int64_t lane = tile.live; lane < tile.live_end; ++lane)
        panel::store_row(tile_panels.dquery_rows, kTileStride, lane, width, gradient_scale,
                         work.rows.dq.data + (start + lane - offset) * work.rows.dq.row_stride);
    }
    writer.write_until(panels, std::min(next - reach.left, unit.last));
  }
  writer.write_until(panels, alone ? unit.last : unit.last + reach.right);
  for (const HeadWork<S, O>& work : heads) {
    double* table = sums.table(unit, work.head, reach);
    if (table == nullptr) continue;
    std::fill(table, table + reach.left + reach.right + 1, 0.0);
    add_band(work.band_sums, reach, table);
  }
}

void backward_unit_float(const LocalBackward<float>& params, const LocalUnit& unit, BackwardScratch<float>& scratch,
                         GradientSums<float, float>& sums) {
  backward_unit(params, unit, scratch, sums);
}
void backward_unit_double(const LocalBackward<double>& params, const LocalUnit& unit, BackwardScratch<double>& scratch,
                          GradientSums<double, double>& sums) {
  backward_unit(params, unit, scratch, sums);
}
void backward_unit_bfloat16(const LocalBackward<BFloat16>& params, const LocalUnit& unit,
                            BackwardScratch<float>& scratch, GradientSums<BFloat16, BFloat16>& sums) {
  backward_unit(params, unit, scratch, sums);
}
void backward_unit_bfloat16_from_float(const LocalBackward<BFloat16, float>& params, const LocalUnit& unit,
                                       BackwardScratch<float>& scratch, GradientSums<BFloat16, float>& sums) {
  backward_unit(params, unit, scratch, sums);
}

}  // namespace longspan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace {

HWY_EXPORT(backward_unit_float);
HWY_EXPORT(backward_unit_double);
HWY_EXPORT(backward_unit_bfloat16);
HWY_EXPORT(backward_unit_bfloat16_from_float);

template <class S, class O, class UnitFunction>
void run_backward(const LocalBackward<S, O>& params, const Parallel& parallel, UnitFunction unit_function) {
  check_local(params);
  const LocalUnits units(params, backward_unit_length(params), false);
  GradientSums<S, O> sums(params, units);
  std::vector<BackwardScratch<Computed<S>>> scratch(static_cast<std::size_t>(parallel.workers()));
  parallel.run(units.count(), [&](int64_t index, int worker) {
    unit_function(params, units[index], scratch[static_cast<std::size_t>(worker)], sums);
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
void local_backward(const LocalBackward<BFloat16>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_backward(params, parallel, HWY_DYNAMIC_DISPATCH(backward_unit_bfloat16));
}
void local_backward(const LocalBackward<BFloat16, float>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_backward(params, parallel, HWY_DYNAMIC_DISPATCH(backward_unit_bfloat16_from_float));
}

}  // namespace longspan::kernels
#endif  // HWY_ONCE
