// Forward of delta memory over one sequence and head.
#include "longspan/kernels/delta/delta_memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/delta/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/delta/chunk-inl.h"
#include "longspan/kernels/delta/heads.h"
#include "longspan/kernels/delta/write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::delta::HWY_NAMESPACE {

/// The rows that the next call needs of a chunk under way, or zeros.
template <class S, class T>
void store_open_chunk(const DeltaForward<S>& p, int64_t s, int64_t h, const Chunk& chunk, ChunkScratch<T>& x) {
  const int64_t pair = pair_of(p, s, h), places = chunk.end == kDeltaChunk ? 0 : chunk.end;
  const auto store = [&](const T* from, int64_t stride, int64_t width, T* to) {
    store_state(from, stride, places, width, to);
    std::fill(to + places * width, to + kDeltaChunk * width, T(0));
  };
  store(x.k.data(), x.r, p.slots, head_of(p.state_out.keys, pair, kDeltaChunk * p.slots));
  store(x.w, x.d, p.width, head_of(p.state_out.writes, pair, kDeltaChunk * p.width));
  if (p.decay == DeltaDecay::none) return;
  const int64_t width = p.decay == DeltaDecay::slot ? p.slots : 1;
  T* to = head_of(p.state_out.log_alpha, pair, kDeltaChunk * width);
  const T* carried = head_of(p.state.log_alpha, pair, kDeltaChunk * width);
  const RowsView<const T> rows = p.rows.at(p.log_alpha, s, h);
  for (int64_t t = 0; t < kDeltaChunk; ++t, to += width) {
    if (t >= places)
      std::fill_n(to, width, T(0));
    else
      std::copy_n(t < chunk.begin ? carried + t * width : rows.row(0, 0, chunk.row + t - chunk.begin), width, to);
  }
}

template <class S, class T>
void run_forward(const DeltaForward<S>& p, int64_t s, int64_t h, T* segments, ChunkScratch<T>& x) {
  const Chunks chunks(p, s);
  const int64_t pair = pair_of(p, s, h), state_size = p.slots * p.width;
  const RowsView<S> out = p.rows.at(p.out, s, h);
  load_memory(head_of(p.state.memory, pair, state_size), p.slots, p.width, x.state, x.d);
  for (int64_t c = 0; c < chunks.count(); ++c) {
    const Chunk chunk = chunks.at(c);
    if (segments && c % kDeltaSegment == 0)
      store_state(x.state, x.d, p.slots, p.width, segments + c / kDeltaSegment * state_size);
    prepare_chunk(p, s, h, chunk, true, x);
    load_values(p, s, h, chunk, x);
    if (c + 1 < chunks.count()) {
      const Chunk next = chunks.at(c + 1);
      prefetch_rows(p.rows.at(p.k, s, h), next, p.slots);
      prefetch_rows(p.rows.at(p.q, s, h), next, p.slots);
      prefetch_rows(p.rows.at(p.v, s, h), next, p.width);
    }
    solve_writes<T>(p.slots, p.width, p.delta, chunk, x, nullptr);
    if (chunk.begin < chunk.end) read_state(p.slots, p.width, chunk, x, out.row(0, 0, chunk.row), out.row_stride);
    const bool open = chunk.end < kDeltaChunk;
    if (open && p.state_out.memory)
      store_state(x.state, x.d, p.slots, p.width, head_of(p.state_out.memory, pair, state_size));
    if (!open || p.last) advance_state(p.width, chunk, x, x.state);
    if (c + 1 < chunks.count()) continue;
    if (p.last) store_state(x.state, x.d, p.slots, p.width, head_of(p.last, pair, state_size));
    if (!p.state_out.memory) continue;
    if (!open) store_state(x.state, x.d, p.slots, p.width, head_of(p.state_out.memory, pair, state_size));
    store_open_chunk(p, s, h, chunk, x);
  }
}

void forward_f32(const DeltaForward<float>& p, int64_t s, int64_t h, float* segments, ChunkScratch<float>& x) {
  run_forward(p, s, h, segments, x);
}
void forward_f64(const DeltaForward<double>& p, int64_t s, int64_t h, double* segments, ChunkScratch<double>& x) {
  run_forward(p, s, h, segments, x);
}
void forward_bf16(const DeltaForward<BFloat16>& p, int64_t s, int64_t h, float* segments, ChunkScratch<float>& x) {
  run_forward(p, s, h, segments, x);
}

}  // namespace longspan::kernels::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longspan::kernels::delta {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_f64);
HWY_EXPORT(forward_bf16);

void forward_head(const DeltaForward<float>& p, int64_t s, int64_t h, float* segments, ChunkScratch<float>& x) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(p, s, h, segments, x);
}
void forward_head(const DeltaForward<double>& p, int64_t s, int64_t h, double* segments, ChunkScratch<double>& x) {
  HWY_DYNAMIC_DISPATCH(forward_f64)(p, s, h, segments, x);
}
void forward_head(const DeltaForward<BFloat16>& p, int64_t s, int64_t h, float* segments, ChunkScratch<float>& x) {
  HWY_DYNAMIC_DISPATCH(forward_bf16)(p, s, h, segments, x);
}

}  // namespace longspan::kernels::delta
#endif  // HWY_ONCE
