// Forward of orthogonal memory: tiles of kTile rows go through projection, scan, softmax and expansion in one pass.
#include "longspan/kernels/memory/memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/memory/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/memory/forward.h"
#include "longspan/kernels/memory/read-inl.h"
#include "longspan/kernels/memory/scan-inl.h"
#include "longspan/simd/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {

/// The tile from `row` on.
template <class T>
HWY_INLINE sn::RowsAhead<T> rows_after(const ReadRun<T>& run, int64_t row, const T* rows, int64_t stride) {
  return {rows + row * stride, stride, HWY_MIN(run.rows - row, kTile)};
}

/// out = B^T (softmax(scale (B q) o h) o h) for a tile of rows.
template <class T>
HWY_NOINLINE void read_tile(int64_t rows, const ReadRun<T>& run, int64_t row, const T* h, int64_t h_stride,
                            ForwardScratch<T>& scratch) {
  const Basis<T>& basis = scratch.basis;
  const int64_t stride = padded(run.slots);
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const int64_t slots = (run.slots + kLanes - 1) / kLanes * kLanes;
  T* a = scratch.a.data();
  sn::MultiplyPanel(rows, run.width, slots, run.q + row * run.q_stride, run.q_stride, basis.transposed(), stride, a,
                    stride, nullptr, rows_after(run, row + rows, run.q, run.q_stride));
  read_rows(rows, run.slots, stride, static_cast<T>(run.scale), a, h, h_stride);
  sn::MultiplyPanel(rows, run.slots, run.width, a, stride, basis.rows(), basis.rows_stride(),
                    run.out + row * run.out_stride, run.out_stride);
}

template <class T>
HWY_NOINLINE void project_tile(int64_t rows, const ReadRun<T>& run, int64_t row, ForwardScratch<T>& scratch) {
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const int64_t slots = (run.slots + kLanes - 1) / kLanes * kLanes;
  sn::MultiplyPanel(rows, run.width, slots, run.m + row * run.m_stride, run.m_stride, scratch.basis.transposed(),
                    padded(run.slots), scratch.z.data(), padded(run.slots), nullptr,
                    rows_after(run, row + rows, run.m, run.m_stride));
}

template <class T>
void causal_run(const ReadRun<T>& run, ForwardScratch<T>& scratch) {
  const int64_t stride = padded(run.slots);
  double* closed = scratch.closed.data();
  double* open = scratch.open.data();
  T* h = scratch.z.data();
  HWY_ALIGN double inverse[kTile];
  int64_t count = run.count;
  for (int64_t row = 0; row < run.rows;) {
    const int64_t left = HWY_MIN(run.rows - row, kMemoryChunk - count % kMemoryChunk);
    const int64_t rows = HWY_MIN(left, kTile);
    project_tile(rows, run, row, scratch);
    for (int64_t t = 0; t < rows; ++t) inverse[t] = 1.0 / static_cast<double>(count + t + 1);
    scan_rows(rows, stride, h, stride, inverse, closed, open, h);
    read_tile(rows, run, row, h, stride, scratch);
    row += rows;
    count += rows;
    if (count % kMemoryChunk == 0)
      for (int64_t i = 0; i < run.slots; ++i) {
        closed[i] += open[i];
        open[i] = 0;
      }
  }
}

template <class T>
void sum_run(const ReadRun<T>& run, ForwardScratch<T>& scratch) {
  for (int64_t row = 0; row < run.rows; row += kTile) {
    const int64_t rows = HWY_MIN(run.rows - row, kTile);
    project_tile(rows, run, row, scratch);
    add_rows(rows, padded(run.slots), scratch.z.data(), padded(run.slots), scratch.open.data());
  }
}

template <class T>
void full_run(const ReadRun<T>& run, ForwardScratch<T>& scratch) {
  for (int64_t row = 0; row < run.rows; row += kTile)
    read_tile(HWY_MIN(run.rows - row, kTile), run, row, run.h, 0, scratch);
}

void causal_run_f32(const ReadRun<float>& run, ForwardScratch<float>& scratch) { causal_run(run, scratch); }
void causal_run_f64(const ReadRun<double>& run, ForwardScratch<double>& scratch) { causal_run(run, scratch); }
void sum_run_f32(const ReadRun<float>& run, ForwardScratch<float>& scratch) { sum_run(run, scratch); }
void sum_run_f64(const ReadRun<double>& run, ForwardScratch<double>& scratch) { sum_run(run, scratch); }
void full_run_f32(const ReadRun<float>& run, ForwardScratch<float>& scratch) { full_run(run, scratch); }
void full_run_f64(const ReadRun<double>& run, ForwardScratch<double>& scratch) { full_run(run, scratch); }

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/kernels/memory/sums.h"
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace memory {
namespace {

HWY_EXPORT(causal_run_f32);
HWY_EXPORT(causal_run_f64);
HWY_EXPORT(sum_run_f32);
HWY_EXPORT(sum_run_f64);
HWY_EXPORT(full_run_f32);
HWY_EXPORT(full_run_f64);

void causal(const ReadRun<float>& run, ForwardScratch<float>& s) { HWY_DYNAMIC_DISPATCH(causal_run_f32)(run, s); }
void causal(const ReadRun<double>& run, ForwardScratch<double>& s) { HWY_DYNAMIC_DISPATCH(causal_run_f64)(run, s); }
void sum(const ReadRun<float>& run, ForwardScratch<float>& s) { HWY_DYNAMIC_DISPATCH(sum_run_f32)(run, s); }
void sum(const ReadRun<double>& run, ForwardScratch<double>& s) { HWY_DYNAMIC_DISPATCH(sum_run_f64)(run, s); }
void full(const ReadRun<float>& run, ForwardScratch<float>& s) { HWY_DYNAMIC_DISPATCH(full_run_f32)(run, s); }
void full(const ReadRun<double>& run, ForwardScratch<double>& s) { HWY_DYNAMIC_DISPATCH(full_run_f64)(run, s); }

/// Per-worker scratch, made when a worker first needs it.
template <class T>
class Workers {
 public:
  Workers(const MemoryParams<T>& p, int workers) : p_(p), scratch_(workers) {}
  ForwardScratch<T>& at(int worker, int64_t head) {
    ForwardScratch<T>& scratch = scratch_[worker];
    if (scratch.z.size() == 0) scratch = ForwardScratch<T>(p_.slots, p_.width);
    scratch.basis.load(p_.basis + head * p_.basis_head_stride);
    return scratch;
  }

 private:
  const MemoryParams<T>& p_;
  std::vector<ForwardScratch<T>> scratch_;
};

/// Rows [begin, end) of sequence s and head h.
template <class T>
ReadRun<T> make_run(const MemoryForward<T>& p, const Plan& plan, int64_t s, int64_t h, int64_t begin, int64_t end) {
  const auto q = p.queries.at(p.q, s, h);
  const auto out = p.queries.at(p.out, s, h);
  ReadRun<T> run;
  run.slots = p.slots;
  run.width = p.width;
  run.scale = p.scale;
  run.rows = end - begin;
  run.q = q.row(0, 0, begin);
  run.q_stride = q.row_stride;
  run.out = out.row(0, 0, begin);
  run.out_stride = out.row_stride;
  if (p.causal) {
    const auto m = p.sources.at(p.m, s, h);
    run.m = m.row(0, 0, begin);
    run.m_stride = m.row_stride;
    run.count = plan.start(s) + begin;
  }
  return run;
}

/// to = from [slots], or zeros for null; its padding, in which another sequence may have left NaN, becomes zero.
void copy_sums(const double* from, int64_t slots, AlignedBuffer<double>& to) {
  std::fill_n(to.data(), to.size(), 0.0);
  if (from) std::copy_n(from, slots, to.data());
}

/// The float64 sum before each chunk, [H][chunks][slots]: what `closed` holds when the chunk starts. The sums of the
/// chunks come from the same additions as in a stream.
template <class T>
AlignedBuffer<double> closed_before(const MemoryForward<T>& p, const Plan& plan, const Parallel& parallel,
                                    Workers<T>& workers) {
  const int64_t chunks = plan.total_chunks(), items = static_cast<int64_t>(plan.items().size());
  AlignedBuffer<double> sums(p.heads * chunks * p.slots);
  const double flops = 2.0 * p.heads * plan.total_rows() * p.slots * p.width;
  run_tasks(parallel, items * p.heads, flops, [&](int64_t index, int worker) {
    const int64_t h = index / items;
    const Item& item = plan.items()[index % items];
    ForwardScratch<T>& scratch = workers.at(worker, h);
    for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s)
      for (int64_t k = item.chunk_begin; k < plan.chunk_end(item, s); ++k) {
        const double* open = k == 0 && p.state.open ? p.state.open + (s * p.heads + h) * p.slots : nullptr;
        copy_sums(open, p.slots, scratch.open);
        sum(make_run(p, plan, s, h, plan.chunk_row(s, k), plan.chunk_row(s, k + 1)), scratch);
        std::copy_n(scratch.open.data(), p.slots, sums.data() + (h * chunks + plan.chunk(s, k)) * p.slots);
      }
  });
  for (int64_t s = 0; s < p.sequences; ++s)
    for (int64_t h = 0; h < p.heads; ++h) {
      const double* closed = p.state.closed ? p.state.closed + (s * p.heads + h) * p.slots : nullptr;
      double* row = sums.data() + (h * chunks + plan.chunk(s, 0)) * p.slots;
      for (int64_t i = 0; i < p.slots; ++i) {
        double total = closed ? closed[i] : 0.0;
        for (int64_t k = 0; k < plan.chunks(s); ++k) {
          const double chunk_sum = row[k * p.slots + i];
          row[k * p.slots + i] = total;
          total += chunk_sum;
        }
      }
    }
  return sums;
}

template <class T>
void forward_causal(const MemoryForward<T>& p, const Parallel& parallel) {
  const Plan plan(p.sequences, p.queries, p.state.count, p.heads, parallel.workers());
  Workers<T> workers(p, parallel.workers());
  AlignedBuffer<double> before;
  if (plan.split()) before = closed_before(p, plan, parallel, workers);
  const double flops = 6.0 * p.heads * plan.total_rows() * p.slots * p.width;
  run_tasks(parallel, plan.tasks() * p.heads, flops, [&](int64_t index, int worker) {
    const int64_t h = index / plan.tasks(), task = index % plan.tasks();
    ForwardScratch<T>& scratch = workers.at(worker, h);
    for (int64_t i = plan.task_begin(task); i < plan.task_begin(task + 1); ++i) {
      const Item& item = plan.items()[i];
      for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s) {
        const int64_t k = item.chunk_begin, end = plan.chunk_end(item, s);
        const int64_t state = (s * p.heads + h) * p.slots;
        if (k == 0) {
          copy_sums(p.state.closed ? p.state.closed + state : nullptr, p.slots, scratch.closed);
          copy_sums(p.state.open ? p.state.open + state : nullptr, p.slots, scratch.open);
        } else if (plan.split()) {
          copy_sums(before.data() + (h * plan.total_chunks() + plan.chunk(s, k)) * p.slots, p.slots, scratch.closed);
          copy_sums(nullptr, p.slots, scratch.open);
        }
        causal(make_run(p, plan, s, h, plan.chunk_row(s, k), plan.chunk_row(s, end)), scratch);
        if (end == plan.chunks(s) && p.state_out.closed) {
          std::copy_n(scratch.closed.data(), p.slots, p.state_out.closed + state);
          std::copy_n(scratch.open.data(), p.slots, p.state_out.open + state);
        }
      }
    }
  });
  if (p.state_out.count)
    for (int64_t s = 0; s < p.sequences; ++s) p.state_out.count[s] = plan.start(s) + plan.rows(s);
}

template <class T>
void forward_full(const MemoryForward<T>& p, const Parallel& parallel) {
  const Plan sources(p.sequences, p.sources, nullptr, p.heads, parallel.workers());
  const Plan plan(p.sequences, p.queries, nullptr, p.heads, parallel.workers());
  AlignedBuffer<T> means(p.sequences * p.heads * padded(p.slots));
  full_memory(p, sources, parallel, means.data(), nullptr);
  Workers<T> workers(p, parallel.workers());
  const int64_t items = static_cast<int64_t>(plan.items().size());
  const double flops = 4.0 * p.heads * plan.total_rows() * p.slots * p.width;
  run_tasks(parallel, items * p.heads, flops, [&](int64_t index, int worker) {
    const int64_t h = index / items;
    const Item& item = plan.items()[index % items];
    ForwardScratch<T>& scratch = workers.at(worker, h);
    for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s) {
      const int64_t end = plan.chunk_end(item, s);
      auto run = make_run(p, plan, s, h, plan.chunk_row(s, item.chunk_begin), plan.chunk_row(s, end));
      if (sources.rows(s) == 0) {
        for (int64_t t = 0; t < run.rows; ++t) std::fill_n(run.out + t * run.out_stride, p.width, T(0));
        continue;
      }
      run.h = means.data() + (s * p.heads + h) * padded(p.slots);
      full(run, scratch);
    }
  });
}

template <class T>
void forward(const MemoryForward<T>& p, const Parallel& parallel) {
  simd::ensure_target();
  if (p.causal)
    forward_causal(p, parallel);
  else
    forward_full(p, parallel);
}

}  // namespace
}  // namespace memory

void memory_forward(const MemoryForward<float>& params, const Parallel& parallel) { memory::forward(params, parallel); }
void memory_forward(const MemoryForward<double>& params, const Parallel& parallel) {
  memory::forward(params, parallel);
}

}  // namespace longspan::kernels
#endif  // HWY_ONCE
