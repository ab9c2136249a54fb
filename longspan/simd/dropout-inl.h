// The decisions of longspan/base/dropout.h for many elements at once, bit for bit.
//
// Per-target header: include it between the per-target guards of a file that uses <hwy/foreach_target.h>.
#if defined(LONGSPAN_SIMD_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_SIMD_DROPOUT_INL_H_
#undef LONGSPAN_SIMD_DROPOUT_INL_H_
#else
#define LONGSPAN_SIMD_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "longspan/base/dropout.h"
#include "longspan/simd/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Low and high words of the products a * b, lane by lane, b the same in all lanes.
template <class DU, class VU = hn::Vec<DU>>
HWY_INLINE void MulWords(DU du, VU a, VU b, VU& low, VU& high) {
  const hn::RepartitionToWide<DU> dw;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(du, hn::ShiftRight<32>(hn::BitCast(dw, a))), b);
  low = hn::Mul(a, b);
  high = hn::OddEven(hn::BitCast(du, odd), hn::BitCast(du, hn::ShiftRight<32>(even)));
}

/// Philox4x32-10 of base/rng.h in every lane: the counters become the words.
template <class DU, class VU = hn::Vec<DU>>
HWY_INLINE void Philox4x32(DU du, VU (&c)[4], uint32_t key0, uint32_t key1) {
  const VU multiplier0 = hn::Set(du, 0xD2511F53u), multiplier1 = hn::Set(du, 0xCD9E8D57u);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
    VU low0, high0, low1, high1;
    MulWords(du, c[0], multiplier0, low0, high0);
    MulWords(du, c[2], multiplier1, low1, high1);
    c[0] = hn::Xor(hn::Xor(high1, c[1]), hn::Set(du, key0));
    c[1] = low1;
    c[2] = hn::Xor(hn::Xor(high0, c[3]), hn::Set(du, key1));
    c[3] = low0;
  }
}

/// factors[key - j][query - i] = `kept` where dropout keeps the weight of a query of [i, i + kTile) for a key of
/// [j, j + kTile), else 0.
template <class T>
HWY_NOINLINE void dropout_block(const HeadDropout& dropout, int64_t i, int64_t j, T kept, T* factors) {
  const TileTag<T> d;
  const hn::Rebind<float, TileTag<T>> df;
  const hn::Rebind<uint32_t, TileTag<T>> du;
  constexpr int64_t N = Blocking<T>::lanes;
  const auto threshold = hn::Set(du, dropout.threshold());
  const auto one = hn::Set(df, 1.0f);
  i += dropout.start;
  j += dropout.start;
  const int64_t shift = j & 3;  // of j in its four keys
  for (int64_t group = 0; 4 * group < kTile + shift; ++group)
    for (int64_t lane = 0; lane < kTile; lane += N) {
      hn::Vec<decltype(du)> words[4] = {
          hn::Iota(du, static_cast<uint32_t>(i + lane)), hn::Set(du, static_cast<uint32_t>(j / 4 + group)),
          hn::Set(du, static_cast<uint32_t>(dropout.head)), hn::Set(du, static_cast<uint32_t>(dropout.row))};
      Philox4x32(du, words, static_cast<uint32_t>(dropout.seed), static_cast<uint32_t>(dropout.seed >> 32));
      for (int word = 0; word < 4; ++word) {
        const int64_t key = 4 * group + word - shift;
        if (key < 0 || key >= kTile) continue;
        const auto keep = hn::IfThenZeroElse(hn::RebindMask(df, hn::Lt(words[word], threshold)), one);
        T* to = factors + key * kTile + lane;
        if constexpr (std::is_same_v<T, double>)
          hn::Store(hn::Mul(hn::PromoteTo(d, keep), hn::Set(d, kept)), d, to);
        else
          hn::Store(hn::Mul(keep, hn::Set(d, kept)), d, to);
      }
    }
}

}  // namespace longspan::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
