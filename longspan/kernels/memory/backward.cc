// Backward of orthogonal memory. Everything but the inputs is recomputed, chunk by chunk and tile by tile.
//
// The gradient of z_j is the suffix sum of dh_t / count_t over t >= j: a sum within j's chunk, taken here from the
// chunk's last row on, plus one vector per chunk for all later chunks, S. S reaches dm as one row for the whole chunk
// (S B) and dbasis as one outer product per chunk (S with the sum of the chunk's m), so that chunks need no order.
#include "longspan/kernels/memory/memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/kernels/memory/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/memory/backward.h"
#include "longspan/kernels/memory/read-inl.h"
#include "longspan/kernels/memory/scan-inl.h"
#include "longspan/simd/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::kernels::memory::HWY_NAMESPACE {

template <class T>
HWY_INLINE int64_t whole_vectors(int64_t size) {
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  return (size + kLanes - 1) / kLanes * kLanes;
}

template <class T>
HWY_NOINLINE void copy_rows(const T* from, int64_t from_stride, int64_t rows, int64_t width, T* to, int64_t to_stride) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (int64_t t = 0; t < rows; ++t) {
    const T* x = from + t * from_stride;
    T* y = to + t * to_stride;
    int64_t j = 0;
    for (; j + kLanes <= width; j += kLanes) hn::Store(hn::LoadU(d, x + j), d, y + j);
    if (j < width) hn::Store(sn::LoadN(d, x + j, width - j), d, y + j);
  }
}

/// The tile before the one from `row` on: tiles run from the last to the first.
template <class T>
HWY_INLINE sn::RowsAhead<T> rows_before(int64_t row, const T* rows, int64_t stride) {
  if (row == 0) return {};
  return {rows + (row - kTile) * stride, stride, kTile};
}

/// Gradients of one tile, given its memories h: dq, the tile's part of the sum over the chunk's dbasis, and, causal,
/// dm.
template <class T>
HWY_NOINLINE void gradient_tile(const GradientRun<T>& run, int64_t row, int64_t rows, const T* h, int64_t h_stride,
                                const double* inverse, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots), wide = padded(run.width);
  const int64_t slots = whole_vectors<T>(run.slots), columns = whole_vectors<T>(run.width);
  const bool causal = run.h == nullptr;
  copy_rows(run.q + row * run.q_stride, run.q_stride, rows, run.width, s.q.data(), wide);
  copy_rows(run.dout + row * run.dout_stride, run.dout_stride, rows, run.width, s.g.data(), wide);
  sn::MultiplyPanel(rows, run.width, slots, s.q.data(), wide, s.basis.transposed(), stride, s.a.data(), stride, nullptr,
                    rows_before(row, run.q, run.q_stride));
  sn::MultiplyPanel(rows, run.width, slots, s.g.data(), wide, s.basis.transposed(), stride, s.du.data(), stride,
                    nullptr, rows_before(row, run.dout, run.dout_stride));
  read_rows_backward(rows, run.slots, stride, static_cast<T>(run.scale), s.a.data(), h, h_stride, s.du.data(),
                     s.u.data(), s.da.data());
  sn::MultiplyPanel(rows, run.slots, run.width, s.da.data(), stride, s.basis.rows(), wide, run.dq + row * run.dq_stride,
                    run.dq_stride);
  sn::OuterTerm<T> terms[3] = {{s.u.data(), s.g.data()}, {s.da.data(), s.q.data()}, {s.dz.data(), s.m.data()}};
  if (causal) {
    suffix_rows(rows, slots, s.du.data(), stride, inverse, s.suffix.data(), s.dz.data());
    copy_rows(run.m + row * run.m_stride, run.m_stride, rows, run.width, s.m.data(), wide);
    sn::MultiplyPanel(rows, run.slots, run.width, s.dz.data(), stride, s.basis.rows(), wide,
                      run.dm + row * run.dm_stride, run.dm_stride, run.addend);
  } else {
    add_rows(rows, slots, s.du.data(), stride, s.suffix.data());
  }
  sn::AccumulateOuter(rows, run.slots, columns, terms, causal ? 3 : 2, stride, wide, s.dbasis.data(), wide);
}

template <class T>
void gradient_chunk(const GradientRun<T>& run, BackwardScratch<T>& s) {
  const int64_t stride = padded(run.slots), slots = whole_vectors<T>(run.slots);
  std::fill_n(s.suffix.data(), stride, 0.0);
  std::fill_n(s.dbasis.data(), s.dbasis.size(), T(0));
  HWY_ALIGN double inverse[kMemoryChunk];
  const bool causal = run.h == nullptr;
  if (causal) {
    std::copy_n(run.closed, run.slots, s.closed.data());
    // The scan adds to whole vectors: what another sequence left behind the last slot, perhaps NaN, goes too.
    std::fill_n(s.open.data(), stride, 0.0);
    if (run.open) std::copy_n(run.open, run.slots, s.open.data());
    for (int64_t t = 0; t < run.rows; ++t) inverse[t] = 1.0 / static_cast<double>(run.count + t + 1);
    for (int64_t row = 0; row < run.rows; row += kTile) {
      const int64_t rows = HWY_MIN(run.rows - row, kTile);
      T* h = s.h.data() + row * stride;
      sn::MultiplyPanel(
          rows, run.width, slots, run.m + row * run.m_stride, run.m_stride, s.basis.transposed(), stride, h, stride,
          nullptr,
          sn::RowsAhead<T>{run.m + (row + rows) * run.m_stride, run.m_stride, HWY_MIN(run.rows - row - rows, kTile)});
      scan_rows(rows, slots, h, stride, inverse + row, s.closed.data(), s.open.data(), h);
    }
  }
  for (int64_t row = (run.rows - 1) / kTile * kTile; row >= 0; row -= kTile) {
    const int64_t rows = HWY_MIN(run.rows - row, kTile);
    if (causal)
      gradient_tile(run, row, rows, s.h.data() + row * stride, stride, inverse + row, s);
    else
      gradient_tile(run, row, rows, run.h, 0, nullptr, s);
  }
  std::copy_n(s.suffix.data(), run.slots, run.dsums);
}

void gradient_chunk_f32(const GradientRun<float>& run, BackwardScratch<float>& s) { gradient_chunk(run, s); }
void gradient_chunk_f64(const GradientRun<double>& run, BackwardScratch<double>& s) { gradient_chunk(run, s); }

}  // namespace longspan::kernels::memory::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/kernels/memory/sums.h"
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace memory {
namespace {

HWY_EXPORT(gradient_chunk_f32);
HWY_EXPORT(gradient_chunk_f64);

void chunk_gradient(const GradientRun<float>& run, BackwardScratch<float>& s) {
  HWY_DYNAMIC_DISPATCH(gradient_chunk_f32)(run, s);
}
void chunk_gradient(const GradientRun<double>& run, BackwardScratch<double>& s) {
  HWY_DYNAMIC_DISPATCH(gradient_chunk_f64)(run, s);
}

/// One backward call. Phases run one after the other, each over independent tasks.
template <class T>
class Backward {
 public:
  Backward(const MemoryBackward<T>& p, const Parallel& parallel)
      : p_(p),
        parallel_(parallel),
        plan_(p.sequences, p.queries, p.causal ? p.state.count : nullptr, p.heads, parallel.workers()),
        items_(static_cast<int64_t>(plan_.items().size())),
        scratch_(parallel.workers()),
        row_flops_(2.0 * p.heads * p.slots * p.width),
        partial_(items_ * p.heads * p.slots * p.width),
        dsums_(p.heads * plan_.total_chunks() * p.slots) {}

  void causal() {
    const int64_t chunks = plan_.total_chunks();
    msums_ = AlignedBuffer<double>(p_.heads * chunks * p_.width);
    closed_ = AlignedBuffer<double>(p_.heads * chunks * p_.slots);
    later_ = AlignedBuffer<double>(p_.heads * chunks * p_.slots);
    chunk_sums(p_, plan_, parallel_, msums_.data());
    project_sums();
    prefix();
    run_tasks(parallel_, plan_.tasks() * p_.heads, 8 * row_flops_ * plan_.total_rows(),
              [this](int64_t index, int worker) { causal_task(index % plan_.tasks(), index / plan_.tasks(), worker); });
    suffix();
    later_chunks();
    reduce_basis({});
  }

  void full() {
    const Plan sources(p_.sequences, p_.sources, nullptr, p_.heads, parallel_.workers());
    const int64_t pairs = p_.sequences * p_.heads;
    AlignedBuffer<T> means(pairs * padded(p_.slots));
    AlignedBuffer<double> totals(pairs * p_.width);
    full_memory(p_, sources, parallel_, means.data(), totals.data());
    run_tasks(parallel_, items_ * p_.heads, 5 * row_flops_ * plan_.total_rows(), [&](int64_t index, int worker) {
      full_item(index % items_, index / items_, sources, means.data(), worker);
    });
    AlignedBuffer<double> dsums(pairs * p_.slots);
    spread_sources(sources, dsums.data());
    reduce_basis({dsums.data(), totals.data()});
  }

 private:
  /// Weights [S][H][slots] and sums [S][H][width] whose outer products belong to dbasis.
  struct Outer {
    const double* weights = nullptr;
    const double* sums = nullptr;
  };

  BackwardScratch<T>& scratch(int worker, int64_t h) {
    BackwardScratch<T>& s = scratch_[worker];
    if (s.h.size() == 0) s = BackwardScratch<T>(p_.slots, p_.width);
    s.basis.load(basis(h));
    return s;
  }
  const T* basis(int64_t h) const { return p_.basis + h * p_.basis_head_stride; }
  /// Row of sequence s, head h in the [S][H][slots] arrays of the state.
  int64_t state(int64_t s, int64_t h) const { return (s * p_.heads + h) * p_.slots; }
  int64_t chunk_index(int64_t s, int64_t h, int64_t k) const { return h * plan_.total_chunks() + plan_.chunk(s, k); }
  double* partial(int64_t item, int64_t h) { return partial_.data() + (h * items_ + item) * p_.slots * p_.width; }
  /// Gradient of what chunk k adds to the sums that leave the call, element i.
  double outgoing(int64_t s, int64_t h, int64_t k, int64_t i) const {
    const double* d = plan_.complete(s, k) ? p_.dclosed_out : p_.dopen_out;
    return d ? d[state(s, h) + i] : 0.0;
  }

  template <class F>
  void for_each_chunk(int64_t item_index, const F& visit) {
    const Item& item = plan_.items()[item_index];
    for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s)
      for (int64_t k = item.chunk_begin; k < plan_.chunk_end(item, s); ++k) visit(s, k);
  }

  /// closed_ = the sum of z over each chunk, from the sum of m: H needs no bits of the forward, only its accuracy.
  void project_sums() {
    run_tasks(parallel_, items_ * p_.heads, row_flops_ * plan_.total_chunks(), [this](int64_t index, int) {
      const int64_t h = index / items_;
      for_each_chunk(index % items_, [&](int64_t s, int64_t k) {
        const int64_t chunk = chunk_index(s, h, k);
        project(basis(h), p_.slots, p_.width, msums_.data() + chunk * p_.width, closed_.data() + chunk * p_.slots);
      });
    });
  }

  /// closed_ = the sum before each chunk.
  void prefix() {
    for (int64_t s = 0; s < p_.sequences; ++s)
      for (int64_t h = 0; h < p_.heads; ++h)
        for (int64_t i = 0; i < p_.slots; ++i) {
          double total = p_.state.closed ? p_.state.closed[state(s, h) + i] : 0.0;
          for (int64_t k = 0; k < plan_.chunks(s); ++k) {
            double& sum = closed_[chunk_index(s, h, k) * p_.slots + i];
            const double chunk_sum = sum + (k == 0 && p_.state.open ? p_.state.open[state(s, h) + i] : 0.0);
            sum = total;
            total += chunk_sum;
          }
        }
  }

  GradientRun<T> make_run(int64_t s, int64_t h, int64_t begin, int64_t end) const {
    const auto q = p_.queries.at(p_.q, s, h), dout = p_.queries.at(p_.dout, s, h);
    const auto dq = p_.queries.at(p_.dq, s, h);
    GradientRun<T> run;
    run.slots = p_.slots;
    run.width = p_.width;
    run.rows = end - begin;
    run.scale = p_.scale;
    run.q = q.row(0, 0, begin);
    run.q_stride = q.row_stride;
    run.dout = dout.row(0, 0, begin);
    run.dout_stride = dout.row_stride;
    run.dq = dq.row(0, 0, begin);
    run.dq_stride = dq.row_stride;
    return run;
  }

  GradientRun<T> causal_chunk(int64_t s, int64_t h, int64_t k) {
    const int64_t begin = plan_.chunk_row(s, k), chunk = chunk_index(s, h, k);
    GradientRun<T> run = make_run(s, h, begin, plan_.chunk_row(s, k + 1));
    const auto m = p_.sources.at(p_.m, s, h);
    const auto dm = p_.sources.at(p_.dm, s, h);
    run.m = m.row(0, 0, begin);
    run.m_stride = m.row_stride;
    run.dm = dm.row(0, 0, begin);
    run.dm_stride = dm.row_stride;
    run.count = plan_.start(s) + begin;
    run.closed = closed_.data() + chunk * p_.slots;
    if (k == 0 && p_.state.open) run.open = p_.state.open + state(s, h);
    run.dsums = dsums_.data() + chunk * p_.slots;
    return run;
  }

  /// Gradients of the task's chunks, the last ones first. What later chunks ask for is known where the task began at
  /// the sequence's end; else later_chunks() adds it. Both add the same number to the same number.
  void causal_task(int64_t task, int64_t h, int worker) {
    BackwardScratch<T>& s = scratch(worker, h);
    for (int64_t i = plan_.task_begin(task + 1) - 1; i >= plan_.task_begin(task); --i) {
      const Item& item = plan_.items()[i];
      double* sum = partial(i, h);
      std::fill_n(sum, p_.slots * p_.width, 0.0);
      for (int64_t sequence = item.sequence_begin; sequence < item.sequence_end; ++sequence) {
        const int64_t end = plan_.chunk_end(item, sequence);
        if (end == plan_.chunks(sequence)) std::fill_n(s.later.data(), p_.slots, 0.0);
        for (int64_t k = end - 1; k >= item.chunk_begin; --k) {
          GradientRun<T> run = causal_chunk(sequence, h, k);
          if (knows_later(item)) {
            double* later = later_.data() + chunk_index(sequence, h, k) * p_.slots;
            for (int64_t slot = 0; slot < p_.slots; ++slot)
              later[slot] = s.later[slot] + outgoing(sequence, h, k, slot);
            expand(basis(h), p_.slots, p_.width, later, s.addend.data());
            run.addend = s.addend.data();
          }
          chunk_gradient(run, s);
          for (int64_t slot = 0; slot < p_.slots; ++slot) s.later[slot] += run.dsums[slot];
          add_panel(s.dbasis.data(), sum);
        }
      }
    }
  }

  bool knows_later(const Item& item) const {
    return !plan_.split() || plan_.chunk_end(item, item.sequence_begin) == plan_.chunks(item.sequence_begin);
  }

  void add_panel(const T* panel, double* sum) {
    for (int64_t slot = 0; slot < p_.slots; ++slot)
      add_to(panel + slot * padded(p_.width), p_.width, sum + slot * p_.width);
  }

  /// later_ = the gradient that a chunk's sums get from behind the chunk; and the gradient of the incoming state.
  void suffix() {
    for (int64_t s = 0; s < p_.sequences; ++s)
      for (int64_t h = 0; h < p_.heads; ++h)
        for (int64_t i = 0; i < p_.slots; ++i) {
          double total = 0;
          for (int64_t k = plan_.chunks(s) - 1; k >= 0; --k) {
            const int64_t at = chunk_index(s, h, k) * p_.slots + i;
            later_[at] = total + outgoing(s, h, k, i);
            total += dsums_[at];
          }
          const int64_t at = state(s, h) + i;
          const double to_closed = p_.dclosed_out ? p_.dclosed_out[at] : 0.0;
          const double to_open = p_.dopen_out ? p_.dopen_out[at] : 0.0;
          if (p_.dclosed) p_.dclosed[at] = total + to_closed;
          if (p_.dopen) p_.dopen[at] = total + (plan_.chunks(s) > 0 ? outgoing(s, h, 0, i) : to_open);
        }
  }

  void later_chunks() {
    run_tasks(parallel_, items_ * p_.heads, row_flops_ * plan_.total_chunks(), [this](int64_t index, int worker) {
      const int64_t i = index % items_, h = index / items_;
      const bool known = knows_later(plan_.items()[i]);
      BackwardScratch<T>& scratch = this->scratch(worker, h);
      for_each_chunk(i, [&](int64_t s, int64_t k) {
        const int64_t chunk = chunk_index(s, h, k);
        const double* later = later_.data() + chunk * p_.slots;
        add_outer(later, p_.slots, msums_.data() + chunk * p_.width, p_.width, partial(i, h), p_.width);
        if (known) return;
        expand(basis(h), p_.slots, p_.width, later, scratch.addend.data());
        const auto dm = p_.sources.at(p_.dm, s, h);
        const int64_t begin = plan_.chunk_row(s, k), end = plan_.chunk_row(s, k + 1);
        add_to_rows(scratch.addend.data(), p_.width, end - begin, dm.row(0, 0, begin), dm.row_stride);
      });
    });
  }

  void full_item(int64_t i, int64_t h, const Plan& sources, const T* means, int worker) {
    BackwardScratch<T>& s = scratch(worker, h);
    double* sum = partial(i, h);
    std::fill_n(sum, p_.slots * p_.width, 0.0);
    for_each_chunk(i, [&](int64_t sequence, int64_t k) {
      auto run = make_run(sequence, h, plan_.chunk_row(sequence, k), plan_.chunk_row(sequence, k + 1));
      run.dsums = dsums_.data() + chunk_index(sequence, h, k) * p_.slots;
      if (sources.rows(sequence) == 0) {
        for (int64_t t = 0; t < run.rows; ++t) std::fill_n(run.dq + t * run.dq_stride, p_.width, T(0));
        std::fill_n(run.dsums, p_.slots, 0.0);
        return;
      }
      run.h = means + (sequence * p_.heads + h) * padded(p_.slots);
      chunk_gradient(run, s);
      add_panel(s.dbasis.data(), sum);
    });
  }

  /// Full form: every source row gets the same gradient, the sum over all queries divided by the number of sources.
  void spread_sources(const Plan& sources, double* dsums) {
    for (int64_t s = 0; s < p_.sequences; ++s)
      for (int64_t h = 0; h < p_.heads; ++h) {
        double* sum = dsums + state(s, h);
        std::fill_n(sum, p_.slots, 0.0);
        for (int64_t k = 0; k < plan_.chunks(s); ++k)
          add_to(static_cast<const double*>(dsums_.data() + chunk_index(s, h, k) * p_.slots), p_.slots, sum);
        const double inverse = sources.rows(s) ? 1.0 / static_cast<double>(sources.rows(s)) : 0.0;
        for (int64_t i = 0; i < p_.slots; ++i) sum[i] *= inverse;
      }
    const int64_t items = static_cast<int64_t>(sources.items().size());
    const double flops = static_cast<double>(sources.total_rows()) * p_.heads * p_.width;
    run_tasks(parallel_, items * p_.heads, flops, [&](int64_t index, int worker) {
      const int64_t h = index / items;
      const Item& item = sources.items()[index % items];
      T* row = scratch(worker, h).addend.data();
      for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s) {
        expand(basis(h), p_.slots, p_.width, dsums + state(s, h), row);
        const auto dm = p_.sources.at(p_.dm, s, h);
        const int64_t end = sources.chunk_row(s, sources.chunk_end(item, s));
        for (int64_t t = sources.chunk_row(s, item.chunk_begin); t < end; ++t)
          std::copy_n(row, p_.width, dm.row(0, 0, t));
      }
    });
  }

  /// dbasis = the partial sums of all items, in order, and the outer products; a shared basis sums over the heads.
  void reduce_basis(const Outer& outer) {
    const bool shared = p_.basis_head_stride == 0;
    const int64_t size = p_.slots * p_.width;
    const double flops = static_cast<double>(items_) * p_.heads * size;
    run_tasks(parallel_, shared ? 1 : p_.heads, flops, [&](int64_t index, int) {
      AlignedBuffer<double> total(size);
      std::fill_n(total.data(), size, 0.0);
      for (int64_t h = index; h < (shared ? p_.heads : index + 1); ++h) {
        for (int64_t i = 0; i < items_; ++i) add_to(static_cast<const double*>(partial(i, h)), size, total.data());
        for (int64_t s = 0; outer.weights && s < p_.sequences; ++s)
          add_outer(outer.weights + state(s, h), p_.slots, outer.sums + (s * p_.heads + h) * p_.width, p_.width,
                    total.data(), p_.width);
      }
      for (int64_t i = 0; i < size; ++i) p_.dbasis[index * size + i] = static_cast<T>(total[i]);
    });
  }

  const MemoryBackward<T>& p_;
  const Parallel& parallel_;
  const Plan plan_;
  const int64_t items_;
  std::vector<BackwardScratch<T>> scratch_;
  const double row_flops_;         ///< of one product over one row of every head
  AlignedBuffer<double> partial_;  ///< [H][items][slots][width] parts of dbasis
  AlignedBuffer<double> dsums_;    ///< [H][chunks][slots] what a chunk asks of the sums before its end
  AlignedBuffer<double> msums_;    ///< [H][chunks][width] sums of m
  AlignedBuffer<double> closed_;   ///< [H][chunks][slots]
  AlignedBuffer<double> later_;    ///< [H][chunks][slots]
};

template <class T>
void backward(const MemoryBackward<T>& p, const Parallel& parallel) {
  simd::ensure_target();
  Backward<T> call(p, parallel);
  if (p.causal)
    call.causal();
  else
    call.full();
}

}  // namespace
}  // namespace memory

void memory_backward(const MemoryBackward<float>& p, const Parallel& parallel) { memory::backward(p, parallel); }
void memory_backward(const MemoryBackward<double>& p, const Parallel& parallel) { memory::backward(p, parallel); }

}  // namespace longspan::kernels
#endif  // HWY_ONCE
