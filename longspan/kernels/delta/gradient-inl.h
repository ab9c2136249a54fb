// The gradient of one chunk from that of its outputs and of the state behind it (docs/ops/delta_memory.md).
#if defined(LONGSPAN_KERNELS_DELTA_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DELTA_GRADIENT_INL_H_
#undef LONGSPAN_KERNELS_DELTA_GRADIENT_INL_H_
#else
#define LONGSPAN_KERNELS_DELTA_GRADIENT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "longspan/kernels/delta/block-inl.h"
#include "longspan/kernels/delta/chunk-inl.h"
#include "longspan/kernels/delta/gradient_scratch.h"
#include "longspan/simd/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::delta::HWY_NAMESPACE {

/// dw_t += (e^(L_C - L) k_t)^T dS + sum over u >= t of p_ut do_u - sum over u > t of a_ut de_u and de_t = beta_t dw_t
/// for the rows of a block, the last first.
template <int kRows, int kVectors, class T>
HWY_INLINE void solve_gradient_block(int64_t slots, bool delta, int64_t end, int64_t t, int64_t j,
                                     GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  const ChunkScratch<T>& x = g.chunk;
  const int64_t own = t * kDeltaChunk + t, behind = own + kRows * kDeltaChunk, at = t * x.d + j;
  Sums<kRows, kVectors, T> sum;
  load<kRows, kVectors, T>(g.dw.data() + at, x.d, sum);
  accumulate<Sign::plus, Factor::rows, kRows, kVectors>(slots, x.kg.data() + t * x.r, x.r, g.dstate.data() + j, x.d,
                                                        sum);
  accumulate<Sign::plus, Factor::steps, kRows, kVectors>(end - t, x.p.data() + own, kDeltaChunk, g.dout.data() + at,
                                                         x.d, sum);
  if (delta)
    accumulate<Sign::minus, Factor::steps, kRows, kVectors>(end - t - kRows, x.a.data() + behind, kDeltaChunk,
                                                            g.de.data() + at + kRows * x.d, x.d, sum);
#pragma GCC unroll 16
  for (int i = kRows - 1; i >= 0; --i) {
    if (delta) {
#pragma GCC unroll 16
      for (int l = kRows - 1; l > i; --l) {
        const auto factor = hn::Set(d, x.a[own + l * kDeltaChunk + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::NegMulAdd(factor, sum[l][v], sum[i][v]);
      }
    }
    store_row<kVectors, T>(sum[i], g.dw.data() + at + i * x.d);
    const auto beta = hn::Set(d, x.beta[t + i]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Mul(beta, sum[i][v]);
    store_row<kVectors, T>(sum[i], g.de.data() + at + i * x.d);
  }
}

/// dw, on top of what stands there, and de (0 in places that came in the state).
template <class T>
HWY_NOINLINE void solve_gradients(int64_t slots, int64_t width, bool delta, const Chunk& chunk, GradientScratch<T>& g) {
  for_columns<T>(width, [&](auto vectors, int64_t j) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    constexpr int kRows = sn::kBlockRows<kVectors>;
    int64_t t = chunk.end;
    for (; t % kRows != 0; --t) solve_gradient_block<1, kVectors>(slots, delta, chunk.end, t - 1, j, g);
    for (; t > 0; t -= kRows) solve_gradient_block<kRows, kVectors>(slots, delta, chunk.end, t - kRows, j, g);
  });
}

/// dbeta_t = <dw_t, e_t>.
template <class T>
HWY_NOINLINE void beta_gradients(int64_t width, const Chunk& chunk, const T* e, GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  for (int64_t t = chunk.begin; t < chunk.end; ++t) {
    auto sum = hn::Zero(d);
    const int64_t row = t * g.chunk.d;
    for (int64_t j = row; j < row + width; j += kLanes<T>)
      sum = hn::MulAdd(hn::Load(d, g.dw.data() + j), hn::Load(d, e + j), sum);
    g.dbeta[t] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

/// dp = do w^T and da = -de w^T, masked; with scalar decay times G.
template <class T>
HWY_NOINLINE void pair_gradients(int64_t width, bool delta, bool per_slot, const Chunk& chunk, GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  const ChunkScratch<T>& x = g.chunk;
  sn::transpose_rows(x.w, x.d, width, g.wt.data(), kDeltaChunk);
  sn::MultiplyPanel(chunk.end, width, kDeltaChunk, g.dout.data(), x.d, g.wt.data(), kDeltaChunk, g.dp.data(),
                    kDeltaChunk);
  if (delta)
    sn::MultiplyPanel(chunk.end, width, kDeltaChunk, g.de.data(), x.d, g.wt.data(), kDeltaChunk, g.da.data(),
                      kDeltaChunk);
  for (int64_t t = 0; t < kDeltaChunk; ++t)
    for (int64_t v = 0; v < kDeltaChunk / kLanes<T>; ++v) {
      const int64_t i = t * kDeltaChunk + v * kLanes<T>;
      if (t >= chunk.end) {
        hn::Store(hn::Zero(d), d, g.dp.data() + i);
        hn::Store(hn::Zero(d), d, g.da.data() + i);
        continue;
      }
      const auto own = hn::Set(d, static_cast<T>(t)),
                 decay = per_slot ? hn::Set(d, T(1)) : hn::Load(d, x.pair.data() + i);
      const auto of_p = hn::Mul(decay, hn::Load(d, g.dp.data() + i));
      hn::Store(hn::IfThenElseZero(hn::Le(places<T>(v), own), of_p), d, g.dp.data() + i);
      if (!delta) continue;
      const auto of_a = hn::Neg(hn::Mul(decay, hn::Load(d, g.da.data() + i)));
      hn::Store(hn::IfThenElseZero(hn::Lt(places<T>(v), own), of_a), d, g.da.data() + i);
    }
}

/// dq, dk_row and dk_column, scalar decay: products of the triangles.
template <class T>
HWY_NOINLINE void multiply_pair_gradients(bool delta, GradientScratch<T>& g) {
  const ChunkScratch<T>& x = g.chunk;
  for_columns<T>(x.r, [&](auto vectors, int64_t j) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    constexpr int kRows = sn::kBlockRows<kVectors>;
    for (int64_t t = 0; t < kDeltaChunk; t += kRows) {
      const int64_t at = t * x.r + j, row = t * kDeltaChunk, own = row + t, behind = kDeltaChunk - t;
      const auto finish = [&](Sums<kRows, kVectors, T>& sum, AlignedBuffer<T>& to) HWY_ATTR {
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) store_row<kVectors, T>(sum[i], to.data() + at + i * x.r);
      };
      Sums<kRows, kVectors, T> sum;
      clear<kRows, kVectors, T>(sum);
      accumulate<Sign::plus, Factor::rows, kRows, kVectors>(t + kRows, g.dp.data() + row, kDeltaChunk, x.k.data() + j,
                                                            x.r, sum);
      finish(sum, g.dq);
      clear<kRows, kVectors, T>(sum);
      if (delta)
        accumulate<Sign::plus, Factor::rows, kRows, kVectors>(t + kRows, g.da.data() + row, kDeltaChunk, x.k.data() + j,
                                                              x.r, sum);
      finish(sum, g.dk_row);
      clear<kRows, kVectors, T>(sum);
      accumulate<Sign::plus, Factor::steps, kRows, kVectors>(behind, g.dp.data() + own, kDeltaChunk, x.q.data() + at,
                                                             x.r, sum);
      if (delta)
        accumulate<Sign::plus, Factor::steps, kRows, kVectors>(behind, g.da.data() + own, kDeltaChunk, x.k.data() + at,
                                                               x.r, sum);
      finish(sum, g.dk_column);
    }
  });
}

/// The same, decay per slot: pair by pair, the decay from each earlier place to the present one going on with it.
template <class T>
HWY_NOINLINE void sum_pair_gradients(bool delta, const Chunk& chunk, GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  const ChunkScratch<T>& x = g.chunk;
  for (int64_t r = 0; r < x.r; r += kLanes<T>) {
    Vector<T> decay[kDeltaChunk], column[kDeltaChunk];
    for (int64_t t = 0; t < chunk.end; ++t) {
      const int64_t at = t * x.r + r;
      const auto q = hn::Load(d, x.q.data() + at), k = hn::Load(d, x.k.data() + at);
      const auto alpha = hn::Load(d, x.alpha.data() + at);
      auto dq = hn::Zero(d), row = hn::Zero(d);
      for (int64_t j = 0; j < t; ++j) {
        decay[j] = hn::Mul(decay[j], alpha);
        const auto key = hn::Mul(decay[j], hn::Load(d, x.k.data() + j * x.r + r));
        const auto dp = hn::Set(d, g.dp[t * kDeltaChunk + j]);
        dq = hn::MulAdd(dp, key, dq);
        auto asked = hn::Mul(dp, q);
        if (delta) {
          const auto da = hn::Set(d, g.da[t * kDeltaChunk + j]);
          row = hn::MulAdd(da, key, row);
          asked = hn::MulAdd(da, k, asked);
        }
        column[j] = hn::MulAdd(decay[j], asked, column[j]);
      }
      const auto dp = hn::Set(d, g.dp[t * kDeltaChunk + t]);
      decay[t] = hn::Set(d, T(1));
      column[t] = hn::Mul(dp, q);
      hn::Store(hn::MulAdd(dp, k, dq), d, g.dq.data() + at);
      hn::Store(row, d, g.dk_row.data() + at);
    }
    for (int64_t t = 0; t < chunk.end; ++t) hn::Store(column[t], d, g.dk_column.data() + t * x.r + r);
  }
}

/// [d][r] = the first `width` columns of [r][d], transposed.
template <class T>
HWY_NOINLINE void transpose_state(const T* from, int64_t width, int64_t d, int64_t r, T* to) {
  for (int64_t i = 0; i < r; i += sn::kTile) sn::transpose_rows(from + i * d, d, width, to + i, r);
}

/// What the rows ask of the states before and behind the chunk: dq_state, dk_error, dk_end, and `whole`.
template <class T>
HWY_NOINLINE void state_gradients(int64_t width, bool delta, bool decays, const Chunk& chunk, GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  const ChunkScratch<T>& x = g.chunk;
  transpose_state(x.state, width, x.d, x.r, g.state_t.data());
  transpose_state(g.dstate.data(), width, x.d, x.r, g.dstate_t.data());
  const auto multiply = [&](const T* rows, const T* state, T* to) {
    sn::MultiplyPanel(chunk.end, width, x.r, rows, x.d, state, x.r, to, x.r);
  };
  multiply(g.dout.data(), g.state_t.data(), g.dq_state.data());
  if (delta) multiply(g.de.data(), g.state_t.data(), g.dk_error.data());
  multiply(x.w, g.dstate_t.data(), g.dk_end.data());
  if (!decays) return;
  for (int64_t r = 0; r < x.r; r += kLanes<T>) {
    auto sum = hn::Zero(d);
    for (int64_t j = 0; j < width; ++j)
      sum = hn::MulAdd(hn::Load(d, g.state_t.data() + j * x.r + r), hn::Load(d, g.dstate_t.data() + j * x.r + r), sum);
    hn::Store(hn::Mul(sum, hn::Load(d, x.total.data() + r)), d, g.whole.data() + r);
  }
}

/// dq and, in dk_column, dk as a whole; at_row and at_end for the decays.
template <bool kPerSlot, class T>
HWY_NOINLINE void combine_gradients(bool delta, const Chunk& chunk, GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  const ChunkScratch<T>& x = g.chunk;
  for (int64_t r = 0; r < x.r; r += kLanes<T>) {
    auto decay = hn::Set(d, T(1));
    for (int64_t t = 0; t < chunk.end; ++t) {
      const int64_t i = t * x.r + r;
      decay = hn::Mul(decay, alpha_at<kPerSlot>(x, t, r));
      const auto q = hn::Load(d, x.q.data() + i), k = hn::Load(d, x.k.data() + i);
      const auto dq = hn::MulAdd(decay, hn::Load(d, g.dq_state.data() + i), hn::Load(d, g.dq.data() + i));
      auto row = hn::Load(d, g.dk_row.data() + i);
      if (delta) row = hn::NegMulAdd(decay, hn::Load(d, g.dk_error.data() + i), row);
      const auto column = hn::Load(d, g.dk_column.data() + i);
      hn::Store(dq, d, g.dq.data() + i);
      hn::Store(hn::Add(row, column), d, g.dk_column.data() + i);
      hn::Store(hn::MulAdd(q, dq, hn::Mul(k, hn::Sub(row, column))), d, g.at_row.data() + i);
    }
    decay = hn::Set(d, T(1));
    for (int64_t t = chunk.end - 1; t >= 0; --t) {
      const int64_t i = t * x.r + r;
      const auto end = hn::Mul(decay, hn::Load(d, g.dk_end.data() + i));
      hn::Store(hn::Add(hn::Load(d, g.dk_column.data() + i), end), d, g.dk_column.data() + i);
      hn::Store(hn::Mul(hn::Load(d, x.k.data() + i), end), d, g.at_end.data() + i);
      decay = hn::Mul(decay, alpha_at<kPerSlot>(x, t, r));
    }
  }
}

/// at_row = dlog_alpha: what this row and those behind it ask of decays up to them, what those before it ask of decays
/// behind them, and `whole`; 0 where alpha is. Scalar decay: in the first column, the sum over the slots.
template <bool kPerSlot, class T>
HWY_NOINLINE void decay_gradients(const Chunk& chunk, GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  const ChunkScratch<T>& x = g.chunk;
  const int64_t slots = kPerSlot ? x.r : kLanes<T>;
  if constexpr (!kPerSlot) {
    const auto fold = [&](T* row) HWY_ATTR {
      auto sum = hn::Load(d, row);
      for (int64_t r = kLanes<T>; r < x.r; r += kLanes<T>) sum = hn::Add(sum, hn::Load(d, row + r));
      hn::Store(hn::SumOfLanes(d, sum), d, row);
    };
    for (int64_t t = 0; t < chunk.end; ++t) fold(g.at_row.data() + t * x.r), fold(g.at_end.data() + t * x.r);
    fold(g.whole.data());
  }
  for (int64_t r = 0; r < slots; r += kLanes<T>) {
    Vector<T> before[kDeltaChunk];
    auto sum = hn::Load(d, g.whole.data() + r);
    for (int64_t t = 0; t < chunk.end; ++t) {
      before[t] = sum;
      sum = hn::Add(sum, hn::Load(d, g.at_end.data() + t * x.r + r));
    }
    sum = hn::Zero(d);
    for (int64_t t = chunk.end - 1; t >= 0; --t) {
      T* at = g.at_row.data() + t * x.r + r;
      sum = hn::Add(sum, hn::Load(d, at));
      const auto forgets = hn::Eq(alpha_at<kPerSlot>(x, t, r), hn::Zero(d));
      hn::Store(hn::IfThenZeroElse(forgets, hn::Add(before[t], sum)), d, at);
    }
  }
}

/// dS before the chunk = Diag(total) dS + qd^T do - kd^T de.
template <class T>
HWY_NOINLINE void rewind_gradient(int64_t width, bool delta, const Chunk& chunk, GradientScratch<T>& g) {
  const hn::ScalableTag<T> d;
  const ChunkScratch<T>& x = g.chunk;
  for_columns<T>(width, [&](auto vectors, int64_t j) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    constexpr int kRows = sn::kBlockRows<kVectors>;
    for (int64_t r = 0; r < x.r; r += kRows) {
      Sums<kRows, kVectors, T> sum;
      clear<kRows, kVectors, T>(sum);
      accumulate<Sign::plus, Factor::steps, kRows, kVectors>(chunk.end, x.qd.data() + r, x.r, g.dout.data() + j, x.d,
                                                             sum);
      if (delta)
        accumulate<Sign::minus, Factor::steps, kRows, kVectors>(chunk.end, x.kd.data() + r, x.r, g.de.data() + j, x.d,
                                                                sum);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        T* at = g.dstate.data() + (r + i) * x.d + j;
        const auto total = hn::Set(d, x.total[r + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(total, hn::Load(d, at + v * kLanes<T>), sum[i][v]);
        store_row<kVectors, T>(sum[i], at);
      }
    }
  });
}

}  // namespace longspan::kernels::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
