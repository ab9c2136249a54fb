// The weights of one head from their scores.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_WEIGHTS_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_WEIGHTS_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_WEIGHTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "longspan/kernels/diffusion/head-inl.h"
#include "longspan/kernels/diffusion/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// What every worker has for the tile under way.
template <class T>
struct TileScratch {
  Buffer<T> columns;

  /// The rows of a tile, transposed.
  HWY_INLINE const T* transpose(const TileLayout& layout, int64_t tile, const Panel<T>& rows) {
    T* to = columns.reserve(panel::round_up(rows.width(), kLanes) * kLanes);
    panel::transpose_tile(rows.row(layout.row(tile)), rows.stride(), rows.width(), to);
    return to;
  }
};

/// Scores of the rest of a strip, times log2 e.
template <class S, class T>
void score_rest(const Head<S>& head, Strip strip, const Panel<T>& queries, const Panel<T>& keys, T* weights) {
  const TileLayout& layout = head.layout;
  if (!layout.has_rest()) return;
  const CsrView& rest = layout.pattern().rest;
  const T scale = head.score_scale(), invalid = head.validity().score;
  const auto rows = head.queries(strip);
  head.for_rows(rows.first, rows.last, [&](int64_t row, int) HWY_ATTR {
    const int64_t first = rest.begin[row], last = rest.begin[row + 1];
    T* to = weights + layout.rest_weight(row, 0);
    dot_row(rest.keys, first, last, queries, row, keys, [&](int64_t e, T dot) { to[e] = scale * dot; });
    if (head.there == nullptr) return;
    for (int64_t e = first; e < last; ++e)
      if (!head.is_there(row) || !head.is_there(rest.keys[e])) to[e] = invalid;
  });
}

/// Weights of a strip from scores. Writes lse unless it is nullptr. The backward pass forms them so, too: exp(a - lse)
/// would lose the digits of lse.
template <class S, class T>
void form_weights(const Head<S>& head, Strip strip, const Panel<T>& queries, const Panel<T>& keys,
                  const RowsView<T>* lse, std::vector<TileScratch<T>>& scratch, T* weights) {
  const TileLayout& layout = head.layout;
  score_rest(head, strip, queries, keys, weights);
  head.for_tiles(strip, [&](int64_t tile, int worker) HWY_ATTR {
    const panel::TileTag<T> d;
    using V = hn::Vec<panel::TileTag<T>>;
    constexpr int kVectors = panel::Blocking<T>::tile_vectors;
    constexpr int N = panel::Blocking<T>::lanes;
    V maxima[kVectors];
    for (V& maximum : maxima) maximum = hn::Set(d, -std::numeric_limits<T>::infinity());
    score_tile(layout, tile, scratch[static_cast<std::size_t>(worker)].transpose(layout, tile, queries), keys,
               head.score_scale(), head.validity(), [&](const Run& run, int64_t at, int v, V score, bool) HWY_ATTR {
                 hn::Store(score, d, weights + run.offset + at * kLanes + v * N);
                 maxima[v] = hn::Max(maxima[v], score);
               });
    HWY_ALIGN T maximum[kLanes];
    HWY_ALIGN T log_sums[kLanes];
    for (int v = 0; v < kVectors; ++v) hn::Store(maxima[v], d, maximum + v * N);
    softmax_tile(layout, tile, weights, maximum, log_sums);
    if (lse == nullptr) return;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      if (layout.alive(tile, lane)) {
        const int64_t i = layout.token(layout.row(tile) + lane) - layout.first_row();
        lse->data[i * lse->row_stride] = log_sums[lane];
      }
  });
}

/// Zeros the gradients of the scores of pairs that have not their own.
template <class S, class T>
void clear_invalid(const Head<S>& head, int64_t tile, T* dscores) {
  if (head.there == nullptr) return;
  const TileLayout& layout = head.layout;
  const int64_t row = layout.row(tile);
  for (int64_t number = layout.run_begin(tile); number < layout.run_end(tile); ++number) {
    const Run& run = layout.run(number);
    for (int64_t at = 0; at < run.count; ++at)
      for (int64_t lane = 0; lane < kLanes; ++lane)
        if (!head.is_there(row + lane) || !head.is_there(run.first + at)) dscores[run.offset + at * kLanes + lane] = 0;
  }
  const CsrView& rest = layout.pattern().rest;
  for_each_rest(layout, tile, [&](int64_t lane, int64_t first, int64_t count) {
    const int32_t* keys = rest.keys + rest.begin[row + lane];
    for (int64_t e = 0; e < count; ++e)
      if (!head.is_there(row + lane) || !head.is_there(keys[e])) dscores[first + e] = 0;
  });
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
