// The product of the weights of one head, and of their transpose, with a panel.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_MIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_MIX_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_MIX_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_MIX_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "longspan/kernels/diffusion/head-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// Weights of a strip: `data` is where the first weight of the layout would stand.
template <class T>
struct Weights {
  Strip strip;
  const T* data = nullptr;
  /// Of the rest in the order of TileLayout::rest_queries(), where they were put in it: see reorder_rest().
  const T* by_key = nullptr;
};

/// Rows of `out` that the tiles of a strip stand in = weights x; finish(tile, worker) after each. The rows of dense
/// rows are those of their copies.
template <class S, class T, class Finish>
void mix(const Head<S>& head, const Weights<T>& weights, const Panel<T>& x, const Panel<T>& out, const Finish& finish) {
  const TileLayout& layout = head.layout;
  const CsrView& rest = layout.pattern().rest;
  const auto queries = head.queries(weights.strip);
  if (queries.first < queries.last) {
    head.zero(out, queries.first / kLanes * kLanes, queries.first);
    head.zero(out, queries.last, panel::round_up(queries.last, kLanes));
  }
  head.for_rows(queries.first, queries.last, [&](int64_t row, int) HWY_ATTR {
    head.zero(out, row, row + 1);
    if (!layout.has_rest()) return;
    gather_row(rest.keys, weights.data + layout.rest_weight(row, 0), rest.begin[row], rest.begin[row + 1], x, out, row);
  });
  head.for_tiles(weights.strip, [&](int64_t tile, int worker) HWY_ATTR {
    if (layout.is_dense(tile)) head.zero(out, layout.row(tile), layout.row(tile) + kLanes);
    mix_tile(layout, tile, weights.data, x, out);
    finish(tile, worker);
  });
}

/// by_key[e] = the weight of entry e of TileLayout::rest_queries().
template <class S, class T>
void reorder_rest(const Head<S>& head, const T* weights, T* by_key) {
  const CsrView& queries = head.layout.rest_queries();
  head.for_rows(0, queries.rows, [&](int64_t key, int) HWY_ATTR {
    for (int64_t e = queries.begin[key]; e < queries.begin[key + 1]; ++e)
      by_key[e] = weights[head.layout.rest_weight(queries.keys[e], head.layout.rest_entry(e))];
  });
}

/// Adds to the rows of keys what the queries of a strip give in the rest, from weights that lie by query.
template <class S, class T>
HWY_INLINE void gather_keys(const Head<S>& head, const Weights<T>& weights, const Panel<T>& x, const Panel<T>& out,
                            int64_t key) {
  constexpr int64_t kPiece = 64;
  const TileLayout& layout = head.layout;
  const CsrView& lists = layout.rest_queries();
  const auto queries = head.queries(weights.strip);
  const int32_t* const end = lists.keys + lists.begin[key + 1];
  const int32_t* first = std::lower_bound(lists.keys + lists.begin[key], end, queries.first);
  const int32_t* const last = std::lower_bound(first, end, queries.last);
  HWY_ALIGN T piece[kPiece];
  while (first < last) {
    const int64_t count = std::min(kPiece, static_cast<int64_t>(last - first));
    for (int64_t i = 0; i < count; ++i)
      piece[i] = weights.data[layout.rest_weight(first[i], layout.rest_entry(first + i - lists.keys))];
    gather_row(first, piece, 0, count, x, out, key);
    first += count;
  }
}

/// out[keys] = weights^T x, or added to what is there unless `fresh`; x has the copies of dense rows.
template <class S, class T>
void mix_transposed(const Head<S>& head, const Weights<T>& weights, const Panel<T>& x, const Panel<T>& out,
                    bool fresh) {
  const TileLayout& layout = head.layout;
  const CsrView& lists = layout.rest_queries();
  head.zero(out, layout.tokens(), layout.dense_row());
  head.for_rows(0, layout.tokens(), [&](int64_t key, int) HWY_ATTR {
    if (fresh) head.zero(out, key, key + 1);
    if (!layout.has_rest()) return;
    if (weights.by_key == nullptr)
      gather_keys(head, weights, x, out, key);
    else
      gather_row(lists.keys, weights.by_key, lists.begin[key], lists.begin[key + 1], x, out, key);
  });
  // Those of dense columns have blocks of all tiles: a unit each, and first.
  const int64_t token_tiles = layout.column_row() / kLanes, columns = layout.key_tiles() - token_tiles;
  head.loop.run(columns + (token_tiles + kUnitTiles - 1) / kUnitTiles, [&](int64_t unit, int) HWY_ATTR {
    const int64_t begin = unit < columns ? token_tiles + unit : (unit - columns) * kUnitTiles;
    const int64_t end = unit < columns ? begin + 1 : std::min(begin + kUnitTiles, token_tiles);
    for (int64_t j = begin; j < end; ++j)
      mix_keys(layout, j, weights.strip.first, weights.strip.last, weights.data, x, out);
  });
  const panel::TileTag<T> d;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  for (int64_t a = 0; a < layout.columns(); ++a)
    for (int64_t chunk = 0; chunk < panel::chunk_count(out.width()); ++chunk) {
      const T* from = out.row(layout.column_row(a)) + chunk * out.stride();
      T* to = out.row(layout.column_token(a)) + chunk * out.stride();
      for (int64_t c = 0; c < panel::chunk_width(out.width(), chunk); c += N)
        hn::Store(hn::Add(hn::Load(d, to + c), hn::Load(d, from + c)), d, to + c);
    }
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
