// One chunk: its rows from storage, the decays between them, and the products between its keys and queries.
#if defined(LONGSPAN_KERNELS_DELTA_CHUNK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGSPAN_KERNELS_DELTA_CHUNK_INL_H_
#undef LONGSPAN_KERNELS_DELTA_CHUNK_INL_H_
#else
#define LONGSPAN_KERNELS_DELTA_CHUNK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "longspan/kernels/delta/block-inl.h"
#include "longspan/kernels/delta/chunk.h"
#include "longspan/simd/gemm-inl.h"
#include "longspan/simd/math-inl.h"
#include "longspan/simd/panel-inl.h"
#include "longspan/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::delta::HWY_NAMESPACE {

/// Places [begin, end) of `to` [C][stride] = rows of the call, widened, zeros behind the width.
template <class S, class T>
HWY_NOINLINE void load_rows(const RowsView<const S>& from, const Chunk& chunk, int64_t width, T* to, int64_t stride) {
  const hn::ScalableTag<T> d;
  for (int64_t t = chunk.begin; t < chunk.end; ++t) {
    const S* x = from.row(0, 0, chunk.row + t - chunk.begin);
    T* y = to + t * stride;
    int64_t j = 0;
    for (; j + kLanes<T> <= width; j += kLanes<T>) hn::Store(sn::LoadFrom(d, x + j), d, y + j);
    if (j < width) hn::Store(sn::LoadN(d, x + j, width - j), d, y + j), j += kLanes<T>;
    for (; j < stride; j += kLanes<T>) hn::Store(hn::Zero(d), d, y + j);
  }
}

/// Rows of the call = places [begin, end) of `from`, rounded to storage.
template <class S, class T>
HWY_NOINLINE void store_rows(const T* from, int64_t stride, const Chunk& chunk, int64_t width, const RowsView<S>& to) {
  const hn::ScalableTag<T> d;
  for (int64_t t = chunk.begin; t < chunk.end; ++t) {
    const T* x = from + t * stride;
    S* y = to.row(0, 0, chunk.row + t - chunk.begin);
    int64_t j = 0;
    for (; j + kLanes<T> <= width; j += kLanes<T>) sn::StoreTo(d, hn::Load(d, x + j), y + j);
    if (j < width) sn::StoreN(d, hn::Load(d, x + j), y + j, width - j);
  }
}

/// Asks for the rows of the next chunk: those of one head lie far apart, where the processor's own prefetching fails.
template <class S>
HWY_INLINE void prefetch_rows(const RowsView<const S>& from, const Chunk& next, int64_t width) {
  sn::prefetch_rows(from.row(0, 0, next.row), from.row_stride, width, next.end - next.begin);
}

/// Zeros in the places behind the last.
template <class T>
void clear_behind(const Chunk& chunk, int64_t stride, AlignedBuffer<T>& x) {
  std::fill(x.data() + chunk.end * stride, x.data() + kDeltaChunk * stride, T(0));
}

/// k, kt and beta.
template <class S, class T>
void load_keys(const DeltaParams<S>& p, int64_t s, int64_t h, const Chunk& chunk, ChunkScratch<T>& x) {
  const int64_t pair = pair_of(p, s, h);
  load_rows(p.rows.at(p.k, s, h), chunk, p.slots, x.k.data(), x.r);
  if (chunk.begin > 0)
    load_state(head_of(p.state.keys, pair, kDeltaChunk * p.slots), chunk.begin, p.slots, x.k.data(), x.r);
  clear_behind(chunk, x.r, x.k);
  sn::transpose_rows(x.k.data(), x.r, x.r, x.kt.data(), kDeltaChunk);
  std::fill_n(x.beta.data(), kDeltaChunk, T(0));
  const RowsView<const T> beta = p.rows.at(p.beta, s, h);
  for (int64_t t = chunk.begin; t < chunk.end; ++t) x.beta[t] = *beta.row(0, 0, chunk.row + t - chunk.begin);
}

/// q; a place that came in the state has no query.
template <class S, class T>
void load_queries(const DeltaParams<S>& p, int64_t s, int64_t h, const Chunk& chunk, ChunkScratch<T>& x) {
  if (chunk.begin > 0) std::fill_n(x.q.data(), chunk.begin * x.r, T(0));
  load_rows(p.rows.at(p.q, s, h), chunk, p.slots, x.q.data(), x.r);
  clear_behind(chunk, x.r, x.q);
}

/// v, in w behind the writes that came in the state.
template <class S, class T>
void load_values(const DeltaParams<S>& p, int64_t s, int64_t h, const Chunk& chunk, ChunkScratch<T>& x) {
  load_rows(p.rows.at(p.v, s, h), chunk, p.width, x.w, x.d);
  if (chunk.begin > 0)
    load_state(head_of(p.state.writes, pair_of(p, s, h), kDeltaChunk * p.width), chunk.begin, p.width, x.w, x.d);
}

/// alpha, 1 in places without a row.
template <class S, class T>
void load_decay(const DeltaParams<S>& p, int64_t s, int64_t h, const Chunk& chunk, ChunkScratch<T>& x) {
  const hn::ScalableTag<T> d;
  const bool per_slot = p.decay == DeltaDecay::slot;
  const int64_t width = per_slot ? p.slots : 1, stride = per_slot ? x.r : 1;
  std::fill_n(x.alpha.data(), kDeltaChunk * stride, p.decay == DeltaDecay::none ? T(1) : T(0));
  if (p.decay == DeltaDecay::none) return;
  if (chunk.begin > 0)
    load_state(head_of(p.state.log_alpha, pair_of(p, s, h), kDeltaChunk * width), chunk.begin, width, x.alpha.data(),
               stride);
  const RowsView<const T> rows = p.rows.at(p.log_alpha, s, h);
  for (int64_t t = chunk.begin; t < chunk.end; ++t)
    std::copy_n(rows.row(0, 0, chunk.row + t - chunk.begin), width, x.alpha.data() + t * stride);
  const auto log2_e = hn::Set(d, static_cast<T>(sn::kLog2E));
  for (int64_t i = 0; i < kDeltaChunk * stride; i += kLanes<T>)
    hn::Store(sn::Exp2(d, hn::Mul(hn::Load(d, x.alpha.data() + i), log2_e)), d, x.alpha.data() + i);
}

/// alpha of place t, for a vector of slots from r on.
template <bool kPerSlot, class T>
HWY_INLINE Vector<T> alpha_at(const ChunkScratch<T>& x, int64_t t, int64_t r) {
  const hn::ScalableTag<T> d;
  return kPerSlot ? hn::Load(d, x.alpha.data() + t * x.r + r) : hn::Set(d, x.alpha[t]);
}

/// kd, qd, kg and total: products of at most C factors of [0, 1], never a quotient or a difference of logarithms.
template <bool kPerSlot, class T>
HWY_NOINLINE void scale_rows(const Chunk& chunk, ChunkScratch<T>& x) {
  const hn::ScalableTag<T> d;
  for (int64_t r = 0; r < x.r; r += kLanes<T>) {
    auto decay = hn::Set(d, T(1));
    for (int64_t t = 0; t < chunk.end; ++t) {
      decay = hn::Mul(decay, alpha_at<kPerSlot>(x, t, r));
      const int64_t i = t * x.r + r;
      hn::Store(hn::Mul(hn::Load(d, x.k.data() + i), decay), d, x.kd.data() + i);
      hn::Store(hn::Mul(hn::Load(d, x.q.data() + i), decay), d, x.qd.data() + i);
    }
    hn::Store(decay, d, x.total.data() + r);
    decay = hn::Set(d, T(1));
    for (int64_t t = chunk.end - 1; t >= 0; --t) {
      const int64_t i = t * x.r + r;
      hn::Store(hn::Mul(hn::Load(d, x.k.data() + i), decay), d, x.kg.data() + i);
      decay = hn::Mul(decay, alpha_at<kPerSlot>(x, t, r));
    }
  }
}

/// Lane numbers of vector v of a row of C.
template <class T>
HWY_INLINE Vector<T> places(int64_t v) {
  return hn::Iota(hn::ScalableTag<T>(), static_cast<T>(v * kLanes<T>));
}

/// a and p, scalar decay: two products, weighted and masked; and G.
template <class T>
HWY_NOINLINE void multiply_pairs(const Chunk& chunk, int64_t slots, bool queries, ChunkScratch<T>& x) {
  const hn::ScalableTag<T> d;
  const int64_t at = chunk.begin * x.r, to = chunk.begin * kDeltaChunk, rows = chunk.end - chunk.begin;
  sn::MultiplyPanel(rows, slots, kDeltaChunk, x.k.data() + at, x.r, x.kt.data(), kDeltaChunk, x.a.data() + to,
                    kDeltaChunk);
  if (queries)
    sn::MultiplyPanel(rows, slots, kDeltaChunk, x.q.data() + at, x.r, x.kt.data(), kDeltaChunk, x.p.data() + to,
                      kDeltaChunk);
  for (int64_t v = 0; v < kDeltaChunk / kLanes<T>; ++v) {
    const auto place = places<T>(v);
    auto decay = hn::Zero(d);
    for (int64_t t = 0; t < kDeltaChunk; ++t) {
      const int64_t i = t * kDeltaChunk + v * kLanes<T>;
      if (t < chunk.begin || t >= chunk.end)
        for (AlignedBuffer<T>* y : {&x.pair, &x.a, &x.p}) hn::Store(hn::Zero(d), d, y->data() + i);
      if (t >= chunk.end) continue;
      const auto own = hn::Set(d, static_cast<T>(t));
      decay = hn::IfThenElse(hn::Eq(place, own), hn::Set(d, T(1)), hn::Mul(decay, hn::Set(d, x.alpha[t])));
      hn::Store(decay, d, x.pair.data() + i);
      if (t < chunk.begin) continue;
      hn::Store(hn::IfThenElseZero(hn::Lt(place, own), hn::Mul(hn::Load(d, x.a.data() + i), decay)), d, x.a.data() + i);
      hn::Store(hn::IfThenElseZero(hn::Le(place, own), hn::Mul(hn::Load(d, x.p.data() + i), decay)), d, x.p.data() + i);
    }
  }
}

/// a and p, decay per slot: the decay from each place (a lane) to place t lies in `running`, and goes on with t.
template <class T>
HWY_NOINLINE void sum_pairs(const Chunk& chunk, int64_t slots, ChunkScratch<T>& x) {
  const hn::ScalableTag<T> d;
  constexpr int kRows = 4, kVectors = static_cast<int>(kDeltaChunk / kLanes<T>);
  std::fill_n(x.running.data(), x.running.size(), T(0));
  for (int64_t t = 0; t < kDeltaChunk; t += kRows) {
    for (int v = 0; v < kVectors; ++v) {
      Vector<T> a[kRows], p[kRows];
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) a[i] = p[i] = hn::Zero(d);
      const auto place = places<T>(v);
      for (int64_t r = 0; r < (t < chunk.end ? slots : 0); ++r) {
        T* running = x.running.data() + r * kDeltaChunk + v * kLanes<T>;
        auto decay = hn::Load(d, running);
        const auto keys = hn::Load(d, x.kt.data() + r * kDeltaChunk + v * kLanes<T>);
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) {
          const int64_t at = (t + i) * x.r + r;
          decay = hn::IfThenElse(hn::Eq(place, hn::Set(d, static_cast<T>(t + i))), hn::Set(d, T(1)),
                                 hn::Mul(decay, hn::Set(d, x.alpha[at])));
          const auto decayed = hn::Mul(decay, keys);
          a[i] = hn::MulAdd(hn::Set(d, x.k[at]), decayed, a[i]);
          p[i] = hn::MulAdd(hn::Set(d, x.q[at]), decayed, p[i]);
        }
        hn::Store(decay, d, running);
      }
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const int64_t at = (t + i) * kDeltaChunk + v * kLanes<T>;
        const auto own = hn::Set(d, static_cast<T>(t + i));
        hn::Store(hn::IfThenElseZero(hn::Lt(place, own), a[i]), d, x.a.data() + at);
        hn::Store(hn::IfThenElseZero(hn::Le(place, own), p[i]), d, x.p.data() + at);
      }
    }
  }
}

/// Everything of a chunk but its writes: what load_*, scale_rows and the pairs give.
/// Without `queries` only what the writes and the state need.
template <class S, class T>
HWY_NOINLINE void prepare_chunk(const DeltaParams<S>& p, int64_t s, int64_t h, const Chunk& chunk, bool queries,
                                ChunkScratch<T>& x) {
  load_keys(p, s, h, chunk, x);
  if (queries) load_queries(p, s, h, chunk, x);
  load_decay(p, s, h, chunk, x);
  if (p.decay == DeltaDecay::slot) {
    scale_rows<true>(chunk, x);
    sum_pairs(chunk, p.slots, x);
  } else {
    scale_rows<false>(chunk, x);
    multiply_pairs(chunk, p.slots, queries, x);
  }
}

}  // namespace longspan::kernels::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
