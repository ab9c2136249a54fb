// The writes of a chunk by forward substitution, its reads, and the state behind it.
#if defined(LONGSPAN_KERNELS_DELTA_WRITE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DELTA_WRITE_INL_H_
#undef LONGSPAN_KERNELS_DELTA_WRITE_INL_H_
#else
#define LONGSPAN_KERNELS_DELTA_WRITE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "longspan/kernels/delta/block-inl.h"
#include "longspan/kernels/delta/chunk.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::delta::HWY_NAMESPACE {

/// e_t = v_t - (e^L k_t)^T S_0 - sum over j < t of a_tj w_j and w_t = beta_t e_t for the rows of a block: rows before
/// it by products, those in it by substitution in registers.
template <int kRows, int kVectors, class T>
HWY_INLINE void solve_block(int64_t slots, bool delta, int64_t t, int64_t j, ChunkScratch<T>& x, T* e) {
  const hn::ScalableTag<T> d;
  T* w = x.w + t * x.d + j;
  const T* a = x.a.data() + t * kDeltaChunk;
  Sums<kRows, kVectors, T> sum;
  load<kRows, kVectors, T>(w, x.d, sum);
  if (delta) {
    accumulate<Sign::minus, Factor::rows, kRows, kVectors>(slots, x.kd.data() + t * x.r, x.r, x.state + j, x.d, sum);
    accumulate<Sign::minus, Factor::rows, kRows, kVectors>(t, a, kDeltaChunk, x.w + j, x.d, sum);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    if (delta) {
#pragma GCC unroll 16
      for (int l = 0; l < i; ++l) {
        const auto factor = hn::Set(d, a[i * kDeltaChunk + t + l]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::NegMulAdd(factor, sum[l][v], sum[i][v]);
      }
    }
    if (e) store_row<kVectors, T>(sum[i], e + (t + i) * x.d + j);
    const auto beta = hn::Set(d, x.beta[t + i]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Mul(beta, sum[i][v]);
    store_row<kVectors, T>(sum[i], w + i * x.d);
  }
}

/// w of the chunk's rows from their v, and e where wanted.
template <class T>
HWY_NOINLINE void solve_writes(int64_t slots, int64_t width, bool delta, const Chunk& chunk, ChunkScratch<T>& x, T* e) {
  for_columns<T>(width, [&](auto vectors, int64_t j) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    for_rows<sn::kBlockRows<kVectors>>(chunk.begin, chunk.end, [&](auto rows, int64_t t) HWY_ATTR {
      solve_block<decltype(rows)::value, kVectors>(slots, delta, t, j, x, e);
    });
  });
}

/// o_t = (e^L q_t)^T S_0 + sum over j <= t of p_tj w_j. Row t reads no later write, so that what is not finite there
/// stays there. The last vector stores `last` columns.
template <int kRows, int kVectors, class S, class T>
HWY_INLINE void read_block(int64_t slots, int64_t t, int64_t j, const ChunkScratch<T>& x, S* out, int64_t out_stride,
                           int64_t last) {
  const hn::ScalableTag<T> d;
  const T* w = x.w + j;
  const T* p = x.p.data() + t * kDeltaChunk;
  Sums<kRows, kVectors, T> sum;
  clear<kRows, kVectors, T>(sum);
  accumulate<Sign::plus, Factor::rows, kRows, kVectors>(slots, x.qd.data() + t * x.r, x.r, x.state + j, x.d, sum);
  accumulate<Sign::plus, Factor::rows, kRows, kVectors>(t, p, kDeltaChunk, w, x.d, sum);
#pragma GCC unroll 16
  for (int l = 0; l < kRows; ++l) {
    Vector<T> row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = hn::Load(d, w + (t + l) * x.d + v * kLanes<T>);
#pragma GCC unroll 16
    for (int i = l; i < kRows; ++i) {
      const auto factor = hn::Set(d, p[i * kDeltaChunk + t + l]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(factor, row[v], sum[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    S* to = out + i * out_stride + j;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if (v + 1 < kVectors || last == kLanes<T>)
        sn::StoreTo(d, sum[i][v], to + v * kLanes<T>);
      else
        sn::StoreN(d, sum[i][v], to + v * kLanes<T>, last);
    }
  }
}

/// The outputs of the chunk's rows; `out` is that of place `begin`.
template <class S, class T>
HWY_NOINLINE void read_state(int64_t slots, int64_t width, const Chunk& chunk, const ChunkScratch<T>& x, S* out,
                             int64_t out_stride) {
  for_columns<T>(width, [&](auto vectors, int64_t j) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    const int64_t last = HWY_MIN(kLanes<T>, width - j - (kVectors - 1) * kLanes<T>);
    for_rows<sn::kBlockRows<kVectors>>(chunk.begin, chunk.end, [&](auto rows, int64_t t) HWY_ATTR {
      read_block<decltype(rows)::value, kVectors>(slots, t, j, x, out + (t - chunk.begin) * out_stride, out_stride,
                                                  last);
    });
  });
}

/// to = Diag(total) state + kg^T w: the sum over the chunk first, so that the state rounds once.
template <class T>
HWY_NOINLINE void advance_state(int64_t width, const Chunk& chunk, const ChunkScratch<T>& x, T* to) {
  const hn::ScalableTag<T> d;
  for_columns<T>(width, [&](auto vectors, int64_t j) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    constexpr int kRows = sn::kBlockRows<kVectors>;
    for (int64_t r = 0; r < x.r; r += kRows) {
      Sums<kRows, kVectors, T> sum;
      clear<kRows, kVectors, T>(sum);
      accumulate<Sign::plus, Factor::steps, kRows, kVectors>(chunk.end, x.kg.data() + r, x.r, x.w + j, x.d, sum);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const int64_t at = (r + i) * x.d + j;
        const auto total = hn::Set(d, x.total[r + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          sum[i][v] = hn::MulAdd(total, hn::Load(d, x.state + at + v * kLanes<T>), sum[i][v]);
        store_row<kVectors, T>(sum[i], to + at);
      }
    }
  });
}

}  // namespace longspan::kernels::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
