// The calls: sequences and heads as tasks, each with the scratch of its worker.
#include <vector>

#include "longspan/base/run_tasks.h"
#include "longspan/kernels/delta/check.h"
#include "longspan/kernels/delta/delta_memory.h"
#include "longspan/kernels/delta/heads.h"
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace delta {
namespace {

/// First segment of each sequence, of one head; the last entry is their number.
template <class S>
std::vector<int64_t> segment_starts(const DeltaParams<S>& p) {
  std::vector<int64_t> starts(p.sequences + 1, 0);
  for (int64_t s = 0; s < p.sequences; ++s) starts[s + 1] = starts[s] + Chunks(p, s).segments();
  return starts;
}

/// head(s, h, segments, scratch of the worker) for every sequence and head; `flops` a row, slot and column.
template <class Scratch, class S, class T, class Head>
void for_each_head(const DeltaParams<S>& p, T* segments, double flops, const Parallel& parallel, const Head& head) {
  const std::vector<int64_t> starts = segment_starts(p);
  std::vector<Scratch> scratch(parallel.workers());
  const auto task = [&](int64_t index, int worker) {
    if (scratch[worker].empty()) scratch[worker] = Scratch(p.slots, p.width);
    const int64_t s = index / p.heads, h = index % p.heads;
    const int64_t at = (h * starts.back() + starts[s]) * p.slots * p.width;
    head(s, h, segments ? segments + at : nullptr, scratch[worker]);
  };
  int64_t rows = 0;
  for (int64_t s = 0; s < p.sequences; ++s) rows += p.rows.size(s);
  run_tasks(parallel, p.sequences * p.heads, flops * rows * p.heads * p.slots * p.width, task);
}

template <class S>
void forward(const DeltaForward<S>& p, const Parallel& parallel) {
  using T = Computed<S>;
  check_delta(p);
  simd::ensure_target();
  for_each_head<ChunkScratch<T>>(
      p, p.segments, 6.0, parallel,
      [&](int64_t s, int64_t h, T* segments, ChunkScratch<T>& scratch) { forward_head(p, s, h, segments, scratch); });
  for (int64_t s = 0; p.state_out.position && s < p.sequences; ++s)
    p.state_out.position[s] = (p.state.position ? p.state.position[s] : 0) + p.rows.size(s);
}

template <class S>
void backward(const DeltaBackward<S>& p, const Parallel& parallel) {
  using T = Computed<S>;
  check_delta(p);
  simd::ensure_target();
  for_each_head<GradientScratch<T>>(p, p.segments, 16.0, parallel,
                                    [&](int64_t s, int64_t h, const T* segments, GradientScratch<T>& scratch) {
                                      backward_head(p, s, h, segments, scratch);
                                    });
}

}  // namespace
}  // namespace delta

template <class S>
int64_t delta_segments(const DeltaParams<S>& params) {
  return params.heads * delta::segment_starts(params).back();
}
template int64_t delta_segments(const DeltaParams<float>& params);
template int64_t delta_segments(const DeltaParams<double>& params);
template int64_t delta_segments(const DeltaParams<BFloat16>& params);

void delta_forward(const DeltaForward<float>& p, const Parallel& parallel) { delta::forward(p, parallel); }
void delta_forward(const DeltaForward<double>& p, const Parallel& parallel) { delta::forward(p, parallel); }
void delta_forward(const DeltaForward<BFloat16>& p, const Parallel& parallel) { delta::forward(p, parallel); }
void delta_backward(const DeltaBackward<float>& p, const Parallel& parallel) { delta::backward(p, parallel); }
void delta_backward(const DeltaBackward<double>& p, const Parallel& parallel) { delta::backward(p, parallel); }
void delta_backward(const DeltaBackward<BFloat16>& p, const Parallel& parallel) { delta::backward(p, parallel); }

}  // namespace longspan::kernels
