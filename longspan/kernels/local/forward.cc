#include <bit>

#include "longspan/kernels/local/local.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/local/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/local/band-inl.h"
#include "longspan/kernels/local/units.h"
#include "longspan/simd/dropout-inl.h"
#include "longspan/simd/math-inl.h"
#include "longspan/simd/panel-inl.h"

#ifndef LONGSPAN_KERNELS_LOCAL_FORWARD_SCRATCH_
#define LONGSPAN_KERNELS_LOCAL_FORWARD_SCRATCH_
namespace longspan::kernels {
/// Scratch of one worker.
template <class T>
struct ForwardScratch {
  Scratch<T> keys, values, distances;                       ///< of the unit
  Scratch<T> query_rows, query_columns, weights, out_rows;  ///< of the tile
};
}  // namespace longspan::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// Scores of one tile, transposed: weights[key - first_block][lane] = log2(e) a_ij, -infinity where the lane does not
/// see the key; returns their maxima by lane.
template <class T, class V, int kVectors>
HWY_INLINE void score_tile(const Tile& tile, const DistanceScores<T>& distances, T scale, const T* keys,
                           int64_t chunk_stride, int64_t width, const T* columns, T* weights, V (&maxima)[kVectors]) {
  const TileTag<T> d;
  constexpr int N = panel::Blocking<T>::lanes;
  const V minus_infinity = hn::Set(d, -std::numeric_limits<T>::infinity());
  const V scales = hn::Set(d, scale);
  for (int v = 0; v < kVectors; ++v) maxima[v] = minus_infinity;
  const int64_t first = tile.first_block();
  for (int64_t block = first; block < tile.last_key(); block += kLocalTile) {
    const bool whole = tile.whole(block);
    for (int64_t j = block; j < block + kLocalTile; j += panel::Blocking<T>::dot_rows) {
      const T* positions = distances.at(tile.start - j);
      T* to = weights + (j - first) * kLocalTile;
      const T* rows = keys + (j - first) * kPanelWidth;
      if (whole) {
        panel::dot_block(rows, chunk_stride, width, columns, [&](int r, int v, V sum) HWY_ATTR {
          const V score = hn::MulAdd(sum, scales, hn::LoadU(d, positions - r + v * N));
          hn::Store(score, d, to + r * kLocalTile + v * N);
          maxima[v] = hn::Max(maxima[v], score);
        });
      } else {
        const int64_t left = tile.keys - j;
        panel::dot_block(rows, chunk_stride, width, columns, [&](int r, int v, V sum) HWY_ATTR {
          const V position = hn::LoadU(d, positions - r + v * N);
          // A select: a key that is not seen may be NaN.
          const V score = r < left ? hn::IfThenElse(hn::Eq(position, minus_infinity), minus_infinity,
                                                    hn::MulAdd(sum, scales, position))
                                   : minus_infinity;
          hn::Store(score, d, to + r * kLocalTile + v * N);
          maxima[v] = hn::Max(maxima[v], score);
        });
      }
    }
  }
}

/// out_rows[lane] = sum over keys of weights[key][lane] values[key]. `exact`: each lane alone over the very keys that
/// it sees, because a value that is not finite times a weight of zero is not zero.
template <class T>
HWY_INLINE void mix_values(const Tile& tile, bool exact, const T* weights, const T* values, int64_t chunk_stride,
                           int64_t width, T* out_rows) {
  constexpr int kRows = panel::Blocking<T>::updated_rows;
  constexpr int64_t kOutStride = kLocalTile * kPanelWidth;
  const int64_t first = tile.first_block();
  if (exact) {
    for (int64_t lane = tile.live; lane < tile.live_end; ++lane)
      panel::update_rows<1, 1, kLocalTile, true>(weights + lane, values, chunk_stride, tile.key_begin(lane) - first,
                                                 tile.key_end(lane) - first, width, out_rows + lane * kPanelWidth,
                                                 kOutStride);
    return;
  }
  for (int64_t lane = 0; lane < tile.live_end; lane += kRows) {
    if (lane + kRows <= tile.live) continue;
    const int64_t begin = std::max(tile.key_begin(lane), tile.first_key());
    const int64_t end = std::min(tile.key_end(lane + kRows - 1), tile.last_key());
    panel::update_rows<kRows, 1, kLocalTile, true>(weights + lane, values, chunk_stride, begin - first, end - first,
                                                   width, out_rows + lane * kPanelWidth, kOutStride);
  }
}

/// Factors for the exponentials of each lane, powers of two: their sum over the keys of the lane stays below 1/2, so
/// that no sum of weighted values overflows where the mean does not. Exact, so no other bit tells.
template <class T>
HWY_INLINE void headroom(const Tile& tile, T* factors) {
  const auto factor = [](int64_t keys) HWY_ATTR {
    return T(0.25) / static_cast<T>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(keys, 1))));
  };
  if (tile.inside()) {
    std::fill_n(factors, kLocalTile, factor(tile.reach.left + tile.reach.right + 1));
    return;
  }
  for (int64_t lane = 0; lane < kLocalTile; ++lane) factors[lane] = factor(tile.key_end(lane) - tile.key_begin(lane));
}

/// weights[key][lane] = factors[lane] 2^(weights[key][lane] - maxima[lane]), keys in [0, count); returns the sums by
/// lane, without the factors.
template <class T, class V, int kVectors>
HWY_INLINE void exponentiate(const V (&maxima)[kVectors], const T* factors, int64_t count, T* weights,
                             V (&sums)[kVectors]) {
  const TileTag<T> d;
  constexpr int N = panel::Blocking<T>::lanes;
  V factor[kVectors];  // in registers: a store to weights might change `factors`
  for (int i = 0; i < kVectors; ++i) {
    factor[i] = hn::Load(d, factors + i * N);
    sums[i] = hn::Zero(d);
  }
  for (T* end = weights + count * kLocalTile; weights < end; weights += kLocalTile) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      const V e = panel::Exp2(d, hn::Sub(hn::Load(d, weights + i * N), maxima[i]));
      hn::Store(hn::Mul(e, factor[i]), d, weights + i * N);
      sums[i] = hn::Add(sums[i], e);
    }
  }
}

/// Zeroes what dropout does not keep of the weights of keys [first, first + count), first a multiple of kLocalTile.
template <class T>
HWY_NOINLINE void drop_weights(const HeadDropout& dropout, int64_t query, int64_t first, int64_t count, T* weights) {
  const TileTag<T> d;
  HWY_ALIGN T kept[kLocalTile * kLocalTile];
  for (int64_t key = 0; key < count; key += kLocalTile) {
    panel::dropout_block(dropout, query, first + key, T(1), kept);
    T* block = weights + key * kLocalTile;
    for (int64_t i = 0; i < kLocalTile * kLocalTile; i += panel::Blocking<T>::lanes)
      hn::Store(hn::Mul(hn::Load(d, block + i), hn::Load(d, kept + i)), d, block + i);
  }
}

/// What the query heads of a unit share: its keys and values in panels, which are filled as the first head comes to
/// them.
template <class S>
struct UnitKeys {
  Reach reach;
  int64_t keys, offset, first_query;
  Ring ring;
  PackedRows<S> packed_keys, packed_values;

  template <class O>
  UnitKeys(const LocalForward<S, O>& params, const LocalUnit& unit, ForwardScratch<Computed<S>>& scratch)
      : reach(clamped_reach(params, params.keys.size(unit.sequence))),
        keys(params.keys.size(unit.sequence)),
        offset(query_offset(params, unit.sequence)),
        first_query(std::max(unit.first, offset)),
        // Sums over the keys of a tile run through adjacent rows.
        ring(Ring::whole(std::max<int64_t>(first_query - reach.left, 0) / kLocalTile * kLocalTile, key_end(unit))),
        packed_keys(params.keys.at(params.k, unit.sequence, unit.key_head), params.width, key_end(unit), ring,
                    scratch.keys.reserve(panel::chunk_count(params.width) * ring.chunk_stride())),
        packed_values(params.keys.at(params.v, unit.sequence, unit.key_head), params.value_width, key_end(unit), ring,
                      scratch.values.reserve(panel::chunk_count(params.value_width) * ring.chunk_stride())) {}
  int64_t key_end(const LocalUnit& unit) const { return std::min(unit.last + reach.right, keys); }
};

/// The queries of one head of a unit.
template <class S, class O>
HWY_INLINE void forward_head(const LocalForward<S, O>& params, const LocalUnit& unit, int64_t head, UnitKeys<S>& x,
                             ForwardScratch<Computed<S>>& scratch) {
  using T = Computed<S>;
  const TileTag<T> d;
  using V = hn::Vec<TileTag<T>>;
  constexpr int N = panel::Blocking<T>::lanes;
  constexpr int kVectors = panel::Blocking<T>::tile_vectors;
  constexpr int64_t kTileStride = kLocalTile * kPanelWidth;

  const RowsView<const S> q = params.queries.at(params.q, unit.sequence, head);
  const RowsView<O> out = params.queries.at(params.out, unit.sequence, head);
  const RowsView<T> lse = params.queries.at(params.lse, unit.sequence, head);
  const int64_t width = params.width, value_width = params.value_width;
  const DistanceScores<T> distances(params, head, x.reach, scratch.distances.reserve(DistanceScores<T>::size(x.reach)));
  T* query_rows = scratch.query_rows.reserve(panel::chunk_count(width) * kTileStride);
  T* columns = scratch.query_columns.reserve(panel::round_up(width, kLocalTile) * kLocalTile);
  T* weights = scratch.weights.reserve((x.reach.left + x.reach.right + 3 * kLocalTile) * kLocalTile);
  T* out_rows = scratch.out_rows.reserve(panel::chunk_count(value_width) * kTileStride);
  const T scale = static_cast<T>(params.scale * panel::kLog2E);
  const V minus_infinity = hn::Set(d, -std::numeric_limits<T>::infinity());
  const V numerator = hn::Set(d, static_cast<T>(params.dropout.scale()));

  for (int64_t start = x.first_query / kLocalTile * kLocalTile; start < unit.last; start += kLocalTile) {
    const Tile tile = make_tile(x.reach, x.keys, x.first_query, unit.last, start);
    const int64_t row = start + tile.live - x.offset;  // of the first live lane
    panel::zero_rows(width, tile.live, query_rows, kTileStride, 0);
    panel::pack_rows(q.data + row * q.row_stride, q.row_stride, width, tile.live_end - tile.live, query_rows,
                     kTileStride, tile.live);
    panel::zero_rows(width, kLocalTile - tile.live_end, query_rows, kTileStride, tile.live_end);
    panel::transpose_tile(query_rows, kTileStride, width, columns);
    x.packed_keys.pack_until(tile.last_key());
    x.packed_values.pack_until(tile.last_key());
    x.packed_keys.prefetch();

    const int64_t first = tile.first_block();
    const int64_t count = panel::round_up(tile.last_key(), kLocalTile) - first;
    V maxima[kVectors], sums[kVectors];
    HWY_ALIGN T factors[kLocalTile];
    score_tile<T>(tile, distances, scale, x.packed_keys.row(first), x.ring.chunk_stride(), width, columns, weights,
                  maxima);
    x.packed_values.prefetch();
    headroom(tile, factors);
    // A lane without a finite score keeps weights of zero: e^(-infinity - 0).
    for (V& maximum : maxima) maximum = hn::IfThenZeroElse(hn::Eq(maximum, minus_infinity), maximum);
    exponentiate(maxima, factors, count, weights, sums);
    if (params.dropout.active()) drop_weights(head_dropout(params, unit.sequence, head), start, first, count, weights);
    const int64_t next = std::min(start + kLocalTile, unit.last);
    panel::prefetch_rows(q.data + (next - x.offset) * q.row_stride, q.row_stride, width,
                         std::min(kLocalTile, unit.last - next));
    mix_values(tile, !x.packed_values.finite(), weights, x.packed_values.row(first), x.ring.chunk_stride(), value_width,
               out_rows);

    HWY_ALIGN T inverse[kLocalTile];
    HWY_ALIGN T log_sum[kLocalTile];
    for (int i = 0; i < kVectors; ++i) {
      const auto none = hn::Eq(sums[i], hn::Zero(d));
      const V scaled = hn::Mul(sums[i], hn::Load(d, factors + i * N));
      hn::Store(hn::IfThenZeroElse(none, hn::Div(numerator, scaled)), d, inverse + i * N);
      // The logarithm is one of numbers, and a maximum may have passed over NaN: the sum keeps it.
      const V kept = hn::Add(panel::Log(d, sums[i]), hn::Sub(sums[i], sums[i]));
      const V log = hn::MulAdd(maxima[i], hn::Set(d, static_cast<T>(panel::kLn2)), kept);
      hn::Store(hn::IfThenElse(none, minus_infinity, log), d, log_sum + i * N);
    }
    for (int64_t lane = tile.live; lane < tile.live_end; ++lane) {
      const int64_t i = start + lane - x.offset;
      // Values of weight zero may be NaN.
      if (inverse[lane] == 0) panel::zero_rows(value_width, 1, out_rows, kTileStride, lane);
      panel::store_row(out_rows, kTileStride, lane, value_width, inverse[lane], out.data + i * out.row_stride);
      lse.data[i * lse.row_stride] = log_sum[lane];
    }
  }
}

template <class S, class O>
void forward_unit(const LocalForward<S, O>& params, const LocalUnit& unit, ForwardScratch<Computed<S>>& scratch) {
  UnitKeys<S> keys(params, unit, scratch);
  const HeadGroup group = head_group(params, unit.key_head);
  for (int64_t head = group.first; head < group.last; ++head) forward_head(params, unit, head, keys, scratch);
}

void forward_unit_float(const LocalForward<float>& params, const LocalUnit& unit, ForwardScratch<float>& scratch) {
  forward_unit(params, unit, scratch);
}
void forward_unit_double(const LocalForward<double>& params, const LocalUnit& unit, ForwardScratch<double>& scratch) {
  forward_unit(params, unit, scratch);
}
void forward_unit_bfloat16(const LocalForward<BFloat16>& params, const LocalUnit& unit,
                           ForwardScratch<float>& scratch) {
  forward_unit(params, unit, scratch);
}
void forward_unit_bfloat16_to_float(const LocalForward<BFloat16, float>& params, const LocalUnit& unit,
                                    ForwardScratch<float>& scratch) {
  forward_unit(params, unit, scratch);
}

}  // namespace longspan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace {

HWY_EXPORT(forward_unit_float);
HWY_EXPORT(forward_unit_double);
HWY_EXPORT(forward_unit_bfloat16);
HWY_EXPORT(forward_unit_bfloat16_to_float);

/// Query positions of a unit. A row's bits do not depend on it.
constexpr int64_t kForwardUnit = 256;

template <class S, class O, class UnitFunction>
void run_forward(const LocalForward<S, O>& params, const Parallel& parallel, UnitFunction unit_function) {
  check_local(params);
  const LocalUnits units(params, kForwardUnit, true);
  std::vector<ForwardScratch<Computed<S>>> scratch(static_cast<std::size_t>(parallel.workers()));
  parallel.run(units.count(), [&](int64_t index, int worker) {
    unit_function(params, units[index], scratch[static_cast<std::size_t>(worker)]);
  });
}

}  // namespace

void local_forward(const LocalForward<float>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_forward(params, parallel, HWY_DYNAMIC_DISPATCH(forward_unit_float));
}
void local_forward(const LocalForward<double>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_forward(params, parallel, HWY_DYNAMIC_DISPATCH(forward_unit_double));
}
void local_forward(const LocalForward<BFloat16>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_forward(params, parallel, HWY_DYNAMIC_DISPATCH(forward_unit_bfloat16));
}
void local_forward(const LocalForward<BFloat16, float>& params, const Parallel& parallel) {
  simd::ensure_target();
  run_forward(params, parallel, HWY_DYNAMIC_DISPATCH(forward_unit_bfloat16_to_float));
}

}  // namespace longspan::kernels
#endif  // HWY_ONCE
