// Products of one tile of 16 queries with the runs that it sees: scores, weighted sums, and the dot products and sums
// of the backward pass.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_TILES_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_TILES_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "longspan/kernels/diffusion/layout.h"
#include "longspan/kernels/diffusion/panels.h"
#include "longspan/simd/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;
static_assert(kLanes == panel::kTile);

/// Keys whose rows stay in the first-level cache while all lanes of a tile pass over them.
inline constexpr int64_t kKeysAtOnce = 64;

/// Which tokens there are, by row of a panel.
template <class T>
struct Validity {
  const char* rows = nullptr;  ///< nullptr: all of them
  T score = 0;                 ///< of a pair with an end that is not there
};

/// Calls store(run, at, v, score, hole) for every row `at` of a run and each vector v of lanes, score = scale <q, k> or
/// -infinity in holes; `hole` is false where no lane can be one. `queries` are transposed.
template <class T, class Store>
HWY_INLINE void score_tile(const TileLayout& layout, int64_t tile, const T* queries, const Panel<T>& keys, T scale,
                           const Validity<T>& validity, const Store& store) {
  const panel::TileTag<T> d;
  using V = hn::Vec<panel::TileTag<T>>;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  constexpr int64_t kRows = panel::Blocking<T>::dot_rows;
  const V minus_infinity = hn::Set(d, -std::numeric_limits<T>::infinity());
  const V scales = hn::Set(d, scale);
  HWY_ALIGN T begin[kLanes];
  HWY_ALIGN T end[kLanes];
  HWY_ALIGN T there[kLanes];
  if (validity.rows != nullptr)
    for (int64_t lane = 0; lane < kLanes; ++lane) there[lane] = validity.rows[layout.row(tile) + lane];
  for (int64_t number = layout.run_begin(tile); number < layout.run_end(tile); ++number) {
    const Run& run = layout.run(number);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      begin[lane] = static_cast<T>(run.begin[lane]);
      end[lane] = static_cast<T>(run.end[lane]);
    }
    for (int64_t at = 0; at < run.count; at += kRows) {
      const T* rows = keys.row(run.first + at);
      if (validity.rows == nullptr && at >= run.whole_begin && at + kRows <= run.whole_end) {
        panel::dot_block(rows, keys.stride(), keys.width(), queries,
                         [&](int r, int v, V sum) HWY_ATTR { store(run, at + r, v, hn::Mul(sum, scales), false); });
        continue;
      }
      panel::dot_block(rows, keys.stride(), keys.width(), queries, [&](int r, int v, V sum) HWY_ATTR {
        V score = hn::Mul(sum, scales);
        if (validity.rows != nullptr) {
          const V other = hn::Set(d, validity.score);
          score = validity.rows[run.first + at + r]
                      ? hn::IfThenElse(hn::Eq(hn::Load(d, there + v * N), hn::Zero(d)), other, score)
                      : other;
        }
        // A select: a key that is not seen may be NaN.
        const V x = hn::Set(d, static_cast<T>(at + r));
        const auto seen = hn::And(hn::Ge(x, hn::Load(d, begin + v * N)), hn::Lt(x, hn::Load(d, end + v * N)));
        store(run, at + r, v, hn::IfThenElse(seen, score, minus_infinity), true);
      });
    }
  }
}

/// out[row of the tile] += sum over its runs of weights x. `exact`: each lane alone over the very rows that it sees,
/// because a number that is not finite times a weight of zero is not zero.
template <class T>
HWY_INLINE void mix_tile(const TileLayout& layout, int64_t tile, const T* weights, const Panel<T>& x,
                         const Panel<T>& out) {
  constexpr int kRows = panel::Blocking<T>::updated_rows;
  T* const to = out.row(layout.row(tile));
  const bool exact = !x.finite();
  for (int64_t number = layout.run_begin(tile); number < layout.run_end(tile); ++number) {
    const Run& run = layout.run(number);
    const T* from = x.row(run.first);
    const T* weight = weights + run.offset;
    if (exact) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        panel::update_rows<1, 1, kLanes, false>(weight + lane, from, x.stride(), run.begin[lane], run.end[lane],
                                                x.width(), to + lane * kPanelColumns, out.stride());
      continue;
    }
    int64_t begin[kLanes / kRows], end[kLanes / kRows];
    for (int64_t group = 0; group < kLanes / kRows; ++group) {
      begin[group] = run.count;
      end[group] = 0;
      for (int64_t lane = group * kRows; lane < (group + 1) * kRows; ++lane) {
        if (run.begin[lane] >= run.end[lane]) continue;
        begin[group] = std::min<int64_t>(begin[group], run.begin[lane]);
        end[group] = std::max<int64_t>(end[group], run.end[lane]);
      }
    }
    for (int64_t at = 0; at < run.count; at += kKeysAtOnce)
      for (int64_t group = 0; group < kLanes / kRows; ++group) {
        const int64_t first = std::max(at, begin[group]), last = std::min(at + kKeysAtOnce, end[group]);
        if (first < last)
          panel::update_rows<kRows, 1, kLanes, false>(weight + group * kRows, from, x.stride(), first, last, x.width(),
                                                      to + group * kRows * kPanelColumns, out.stride());
      }
  }
}

/// out[16 keys from panel row 16 j on] += sum over tiles in [first_tile, last_tile) of weights^T x.
template <class T>
HWY_INLINE void mix_keys(const TileLayout& layout, int64_t j, int64_t first_tile, int64_t last_tile, const T* weights,
                         const Panel<T>& x, const Panel<T>& out) {
  constexpr int kRows = panel::Blocking<T>::updated_rows;
  T* const to = out.row(j * kLanes);
  const bool exact = !x.finite();
  for (const BlockOfKeys* block = layout.blocks_begin(j); block < layout.blocks_end(j); ++block) {
    if (block->tile < first_tile || block->tile >= last_tile) continue;
    const T* from = x.row(layout.row(block->tile));
    const T* weight = weights + block->offset;
    if (exact) {
      const Run& run = layout.run(block->run);
      for (int64_t key = 0; key < kLanes; ++key)
        for (int64_t lane = 0; lane < kLanes; ++lane)
          if (block->at + key >= run.begin[lane] && block->at + key < run.end[lane])
            panel::update_rows<1, kLanes, 1, false>(weight + key * kLanes, from, x.stride(), lane, lane + 1, x.width(),
                                                    to + key * kPanelColumns, out.stride());
      continue;
    }
    for (int64_t key = 0; key < kLanes; key += kRows)
      panel::update_rows<kRows, kLanes, 1, false>(weight + key * kLanes, from, x.stride(), 0, kLanes, x.width(),
                                                  to + key * kPanelColumns, out.stride());
  }
}

/// dots[key][lane] = factor <a_lane, b_key> over the runs of a tile, added to what is there unless `fresh`. `columns`:
/// the rows a of the tile, transposed. Holes get something.
template <class T>
HWY_INLINE void dot_tile(const TileLayout& layout, int64_t tile, const T* columns, const Panel<T>& b, T factor,
                         bool fresh, T* dots) {
  const panel::TileTag<T> d;
  using V = hn::Vec<panel::TileTag<T>>;
  constexpr int64_t N = panel::Blocking<T>::lanes;
  constexpr int64_t kRows = panel::Blocking<T>::dot_rows;
  const V factors = hn::Set(d, factor);
  for (int64_t number = layout.run_begin(tile); number < layout.run_end(tile); ++number) {
    const Run& run = layout.run(number);
    for (int64_t at = 0; at < run.count; at += kRows) {
      T* to = dots + run.offset + at * kLanes;
      panel::dot_block(b.row(run.first + at), b.stride(), b.width(), columns, [&](int r, int v, V sum) HWY_ATTR {
        T* place = to + r * kLanes + v * N;
        hn::Store(fresh ? hn::Mul(sum, factors) : hn::MulAdd(sum, factors, hn::Load(d, place)), d, place);
      });
    }
  }
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
