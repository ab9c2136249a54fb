// Backward of delta memory over one sequence and head: segment by segment from the end, the states and writes of a
// segment recomputed from the state before it.
#include "longspan/kernels/delta/delta_memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/delta/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/delta/chunk-inl.h"
#include "longspan/kernels/delta/gradient-inl.h"
#include "longspan/kernels/delta/heads.h"
#include "longspan/kernels/delta/write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::delta::HWY_NAMESPACE {

/// The backward pass over one sequence and head.
template <class S>
class Backward {
  using T = Computed<S>;

 public:
  Backward(const DeltaBackward<S>& p, int64_t s, int64_t h, GradientScratch<T>& g)
      : p_(p), s_(s), h_(h), pair_(pair_of(p, s, h)), chunks_(p, s), g_(g), x_(g.chunk) {}

  void run(const T* segments) {
    AlignedBuffer<T> own;
    if (segments == nullptr) {
      own = AlignedBuffer<T>(chunks_.segments() * state_size());
      find_segments(own.data());
      segments = own.data();
    }
    load_memory(head_of(p_.dlast, pair_, state_size()), p_.slots, p_.width, g_.dstate.data(), x_.d);
    for (int64_t segment = chunks_.segments() - 1; segment >= 0; --segment) {
      const int64_t first = segment * kDeltaSegment, end = std::min(chunks_.count(), first + kDeltaSegment);
      recompute(segments + segment * state_size(), first, end);
      for (int64_t c = end - 1; c >= first; --c) gradient(c, c - first);
    }
    if (p_.dstate.memory)
      store_state(g_.dstate.data(), x_.d, p_.slots, p_.width, head_of(p_.dstate.memory, pair_, state_size()));
  }

 private:
  int64_t state_size() const { return p_.slots * p_.width; }
  int64_t decay_width() const { return p_.decay == DeltaDecay::slot ? p_.slots : 1; }

  int64_t memory_size() const { return x_.r * x_.d; }
  int64_t rows_size() const { return kDeltaChunk * x_.d; }

  /// Writes of chunk c and, in `to`, the state behind it.
  void advance(int64_t c, T* errors, T* to) {
    const Chunk chunk = chunks_.at(c);
    if (c + 1 < chunks_.count()) {
      prefetch(p_.k, chunks_.at(c + 1), p_.slots);
      prefetch(p_.v, chunks_.at(c + 1), p_.width);
    }
    prepare_chunk(p_, s_, h_, chunk, false, x_);
    load_values(p_, s_, h_, chunk, x_);
    solve_writes(p_.slots, p_.width, p_.delta, chunk, x_, errors);
    if (chunk.end == kDeltaChunk) advance_state(p_.width, chunk, x_, to);
  }
  /// The states before every segment, by a pass over the rows.
  void find_segments(T* segments) {
    x_.w = x_.own_w.data(), x_.state = x_.own_state.data();
    load_memory(head_of(p_.state.memory, pair_, state_size()), p_.slots, p_.width, x_.state, x_.d);
    for (int64_t c = 0; c < chunks_.count(); ++c) {
      if (c % kDeltaSegment == 0)
        store_state(x_.state, x_.d, p_.slots, p_.width, segments + c / kDeltaSegment * state_size());
      advance(c, nullptr, x_.state);
    }
  }
  void recompute(const T* from, int64_t first, int64_t end) {
    load_memory(from, p_.slots, p_.width, g_.states.data(), x_.d);
    for (int64_t c = first; c < end; ++c) {
      select(c - first);
      advance(c, g_.errors.data() + (c - first) * rows_size(), x_.state + memory_size());
    }
  }
  /// The state and the writes of chunk i of the segment.
  void select(int64_t i) {
    x_.state = g_.states.data() + i * memory_size();
    x_.w = g_.writes.data() + i * rows_size();
  }
  void prefetch(const RowsView<const S>& rows, const Chunk& chunk, int64_t width) const {
    prefetch_rows(p_.rows.at(rows, s_, h_), chunk, width);
  }

  /// Chunk c, number i of its segment.
  void gradient(int64_t c, int64_t i) {
    const Chunk chunk = chunks_.at(c);
    const bool last = c + 1 == chunks_.count(), open = chunk.end < kDeltaChunk, decays = p_.decay != DeltaDecay::none;
    const bool per_slot = p_.decay == DeltaDecay::slot;
    const T* errors = g_.errors.data() + i * rows_size();
    select(i);
    if (c > 0) {
      prefetch(p_.k, chunks_.at(c - 1), p_.slots);
      prefetch(p_.q, chunks_.at(c - 1), p_.slots);
      prefetch(p_.dout, chunks_.at(c - 1), p_.width);
    }
    prepare_chunk(p_, s_, h_, chunk, true, x_);
    std::fill_n(g_.dout.data(), chunk.begin * x_.d, T(0));
    load_rows(p_.rows.at(p_.dout, s_, h_), chunk, p_.width, g_.dout.data(), x_.d);
    std::fill_n(g_.dw.data(), chunk.end * x_.d, T(0));
    if (last && open && p_.dstate_out.writes)
      load_state(head_of(p_.dstate_out.writes, pair_, kDeltaChunk * p_.width), chunk.end, p_.width, g_.dw.data(), x_.d);
    if (last && !open) add_state_gradient();
    solve_gradients(p_.slots, p_.width, p_.delta, chunk, g_);
    beta_gradients(p_.width, chunk, errors, g_);
    pair_gradients(p_.width, p_.delta, per_slot, chunk, g_);
    if (per_slot)
      sum_pair_gradients(p_.delta, chunk, g_);
    else
      multiply_pair_gradients(p_.delta, g_);
    state_gradients(p_.width, p_.delta, decays, chunk, g_);
    if (per_slot)
      combine_gradients<true>(p_.delta, chunk, g_);
    else
      combine_gradients<false>(p_.delta, chunk, g_);
    rewind_gradient(p_.width, p_.delta, chunk, g_);
    if (per_slot)
      decay_gradients<true>(chunk, g_);
    else if (decays)
      decay_gradients<false>(chunk, g_);
    if (last && open && p_.dstate_out.memory) {
      add_state_gradient();
      add_open_rows(p_.dstate_out.keys, p_.slots, chunk.end, g_.dk_column, x_.r);
      if (decays) add_open_rows(p_.dstate_out.log_alpha, decay_width(), chunk.end, g_.at_row, x_.r);
    }
    store(chunk);
    if (c == 0) store_carried(chunk.begin);
  }

  /// dstate += the gradient of the state that the call gave.
  void add_state_gradient() {
    const T* from = head_of(p_.dstate_out.memory, pair_, state_size());
    for (int64_t r = 0; from && r < p_.slots; ++r)
      for (int64_t j = 0; j < p_.width; ++j) g_.dstate[r * x_.d + j] += from[r * p_.width + j];
  }
  /// The same for rows of the open chunk.
  void add_open_rows(const T* from, int64_t width, int64_t places, AlignedBuffer<T>& to, int64_t stride) const {
    from = head_of(from, pair_, kDeltaChunk * width);
    for (int64_t t = 0; from && t < places; ++t)
      for (int64_t j = 0; j < width; ++j) to[t * stride + j] += from[t * width + j];
  }

  void store(const Chunk& chunk) {
    if (chunk.begin == chunk.end) return;
    store_rows(g_.dq.data(), x_.r, chunk, p_.slots, p_.rows.at(p_.dq, s_, h_));
    store_rows(g_.dk_column.data(), x_.r, chunk, p_.slots, p_.rows.at(p_.dk, s_, h_));
    store_rows(g_.de.data(), x_.d, chunk, p_.width, p_.rows.at(p_.dv, s_, h_));
    const RowsView<T> dbeta = p_.rows.at(p_.dbeta, s_, h_);
    for (int64_t t = chunk.begin; t < chunk.end; ++t) *dbeta.row(0, 0, chunk.row + t - chunk.begin) = g_.dbeta[t];
    if (p_.decay == DeltaDecay::none) return;
    const RowsView<T> dlog_alpha = p_.rows.at(p_.dlog_alpha, s_, h_);
    for (int64_t t = chunk.begin; t < chunk.end; ++t)
      std::copy_n(g_.at_row.data() + t * x_.r, decay_width(), dlog_alpha.row(0, 0, chunk.row + t - chunk.begin));
  }
  /// Gradients of the rows that came in the state.
  void store_carried(int64_t places) const {
    const auto store = [&](const AlignedBuffer<T>& from, int64_t stride, int64_t width, T* to) {
      if (to == nullptr) return;
      to = head_of(to, pair_, kDeltaChunk * width);
      store_state(from.data(), stride, places, width, to);
      std::fill(to + places * width, to + kDeltaChunk * width, T(0));
    };
    store(g_.dk_column, x_.r, p_.slots, p_.dstate.keys);
    store(g_.dw, x_.d, p_.width, p_.dstate.writes);
    if (p_.decay != DeltaDecay::none) store(g_.at_row, x_.r, decay_width(), p_.dstate.log_alpha);
  }

  const DeltaBackward<S>& p_;
  const int64_t s_, h_, pair_;
  const Chunks chunks_;
  GradientScratch<T>& g_;
  ChunkScratch<T>& x_;
};

void backward_f32(const DeltaBackward<float>& p, int64_t s, int64_t h, const float* segments,
                  GradientScratch<float>& g) {
  Backward<float>(p, s, h, g).run(segments);
}
void backward_f64(const DeltaBackward<double>& p, int64_t s, int64_t h, const double* segments,
                  GradientScratch<double>& g) {
  Backward<double>(p, s, h, g).run(segments);
}
void backward_bf16(const DeltaBackward<BFloat16>& p, int64_t s, int64_t h, const float* segments,
                   GradientScratch<float>& g) {
  Backward<BFloat16>(p, s, h, g).run(segments);
}

}  // namespace longspan::kernels::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longspan::kernels::delta {

HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_f64);
HWY_EXPORT(backward_bf16);

void backward_head(const DeltaBackward<float>& p, int64_t s, int64_t h, const float* segments,
                   GradientScratch<float>& g) {
  HWY_DYNAMIC_DISPATCH(backward_f32)(p, s, h, segments, g);
}
void backward_head(const DeltaBackward<double>& p, int64_t s, int64_t h, const double* segments,
                   GradientScratch<double>& g) {
  HWY_DYNAMIC_DISPATCH(backward_f64)(p, s, h, segments, g);
}
void backward_head(const DeltaBackward<BFloat16>& p, int64_t s, int64_t h, const float* segments,
                   GradientScratch<float>& g) {
  HWY_DYNAMIC_DISPATCH(backward_bf16)(p, s, h, segments, g);
}

}  // namespace longspan::kernels::delta
#endif  // HWY_ONCE
