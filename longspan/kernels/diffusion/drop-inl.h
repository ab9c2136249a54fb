// What dropout takes: weights of a strip in a hop, features of a state after it.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_KERNELS_DIFFUSION_DROP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DIFFUSION_DROP_INL_H_
#undef LONGSPAN_KERNELS_DIFFUSION_DROP_INL_H_
#else
#define LONGSPAN_KERNELS_DIFFUSION_DROP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "longspan/kernels/diffusion/head-inl.h"
#include "longspan/kernels/diffusion/softmax-inl.h"
#include "longspan/simd/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::diffusion::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;

/// factors[x] = `kept` where dropout keeps the element (i[x], j[x]), else 0, for x in [0, kLanes).
template <class T>
HWY_NOINLINE void scattered_factors(const HeadDropout& dropout, const uint32_t* i, const uint32_t* j, T kept,
                                    T* factors) {
  const panel::TileTag<T> d;
  const hn::Rebind<uint32_t, panel::TileTag<T>> du;
  const hn::Rebind<float, panel::TileTag<T>> df;
  const auto three = hn::Set(du, 3u);
  for (int64_t x = 0; x < kLanes; x += panel::Blocking<T>::lanes) {
    const auto element = hn::LoadU(du, j + x);
    hn::Vec<decltype(du)> words[4] = {hn::LoadU(du, i + x), hn::ShiftRight<2>(element),
                                      hn::Set(du, static_cast<uint32_t>(dropout.head)),
                                      hn::Set(du, static_cast<uint32_t>(dropout.row))};
    panel::Philox4x32(du, words, static_cast<uint32_t>(dropout.seed), static_cast<uint32_t>(dropout.seed >> 32));
    const auto place = hn::And(element, three);
    auto word = words[3];
    for (uint32_t w = 0; w < 3; ++w) word = hn::IfThenElse(hn::Eq(place, hn::Set(du, w)), words[w], word);
    const auto drops = hn::RebindMask(df, hn::Lt(word, hn::Set(du, dropout.threshold())));
    const auto keep = hn::IfThenZeroElse(drops, hn::Set(df, 1.0f));
    if constexpr (std::is_same_v<T, double>)
      hn::StoreU(hn::Mul(hn::PromoteTo(d, keep), hn::Set(d, kept)), d, factors + x);
    else
      hn::StoreU(hn::Mul(keep, hn::Set(d, kept)), d, factors + x);
  }
}

/// Where dropout counts a token.
template <class S>
HWY_INLINE uint32_t dropout_position(const Head<S>& head, const HeadDropout& dropout, int64_t token) {
  return static_cast<uint32_t>(dropout.start + (token >= 0 ? head.position(token) : 0));
}

/// factors[key][lane] of the block of a tile and the keys at row `key_row` of a panel.
template <class S, class T>
HWY_INLINE void block_factors(const Head<S>& head, const HeadDropout& dropout, int64_t tile, int64_t key_row,
                              T* factors) {
  const TileLayout& layout = head.layout;
  const T kept = static_cast<T>(dropout.scale());
  const int64_t row = layout.row(tile);
  if (head.params.positions == nullptr && !layout.reordered() && !layout.is_dense(tile) &&
      key_row < layout.column_row())
    return panel::dropout_block(dropout, row, key_row, kept, factors);
  uint32_t i[kLanes], j[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) i[lane] = dropout_position(head, dropout, layout.token(row + lane));
  for (int64_t key = 0; key < kLanes; ++key) {
    std::fill_n(j, kLanes, dropout_position(head, dropout, layout.token(key_row + key)));
    scattered_factors(dropout, i, j, kept, factors + key * kLanes);
  }
}

/// to = the factors of dropout in hop `hop` times from (kAdd: added to what is there), for the weights of a strip.
template <bool kAdd, class S, class T>
void drop(const Head<S>& head, Strip strip, int64_t hop, const T* from, T* to) {
  const TileLayout& layout = head.layout;
  const HeadDropout dropout =
      head.dropout(head.params.attention_dropout, diffusion_attention_seed(head.params.attention_dropout.seed, hop));
  const T kept = static_cast<T>(dropout.scale());
  head.for_tiles(strip, [&](int64_t tile, int) HWY_ATTR {
    const panel::TileTag<T> d;
    HWY_ALIGN T factors[kBlockSize];
    for (int64_t number = layout.run_begin(tile); number < layout.run_end(tile); ++number) {
      const Run& run = layout.run(number);
      for (int64_t at = 0; at < run.count; at += kLanes) {
        block_factors(head, dropout, tile, run.first + at, factors);
        const T* x = from + run.offset + at * kLanes;
        T* y = to + run.offset + at * kLanes;
        for (int64_t i = 0; i < kBlockSize; i += panel::Blocking<T>::lanes) {
          const auto product = hn::Mul(hn::Load(d, x + i), hn::Load(d, factors + i));
          hn::Store(kAdd ? hn::Add(hn::Load(d, y + i), product) : product, d, y + i);
        }
      }
    }
    const CsrView& rest = layout.pattern().rest;
    for_each_rest(layout, tile, [&](int64_t lane, int64_t first, int64_t count) HWY_ATTR {
      const int64_t query = layout.row(tile) + lane;
      const int32_t* keys = rest.keys + rest.begin[query];
      uint32_t i[kLanes], j[kLanes] = {};
      std::fill_n(i, kLanes, dropout_position(head, dropout, layout.token(query)));
      for (int64_t e = 0; e < count; e += kLanes) {
        const int64_t some = std::min(kLanes, count - e);
        for (int64_t x = 0; x < some; ++x) j[x] = dropout_position(head, dropout, layout.token(keys[e + x]));
        scattered_factors(dropout, i, j, kept, factors);
        for (int64_t x = 0; x < some; ++x) {
          const T product = factors[x] * from[first + e + x];
          to[first + e + x] = kAdd ? to[first + e + x] + product : product;
        }
      }
    });
  });
}

/// Takes out of a row of features what dropout takes after a hop.
template <class S, class T>
void drop_features(const Head<S>& head, const Panel<T>& z, int64_t row, int64_t token, int64_t hop) {
  const HeadDropout dropout =
      head.dropout(head.params.hop_dropout, diffusion_hop_seed(head.params.hop_dropout.seed, hop));
  HWY_ALIGN T factors[kLanes];
  uint32_t i[kLanes], j[kLanes];
  std::fill_n(i, kLanes, dropout_position(head, dropout, token));
  for (int64_t c = 0; c < z.width(); c += kLanes) {
    for (int64_t x = 0; x < kLanes; ++x) j[x] = static_cast<uint32_t>(c + x);
    scattered_factors(dropout, i, j, static_cast<T>(dropout.scale()), factors);
    T* features = z.row(row) + c / kPanelColumns * z.stride() + c % kPanelColumns;
    for (int64_t x = 0; x < std::min(kLanes, z.width() - c); ++x) features[x] *= factors[x];
  }
}

}  // namespace longspan::kernels::diffusion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
