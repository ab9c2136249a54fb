// The forward call: which rows are read by which task, and the sums between them.
#include "longspan/base/run_tasks.h"
#include "longspan/kernels/memory/accumulator.h"
#include "longspan/kernels/memory/check.h"
#include "longspan/kernels/memory/forward.h"
#include "longspan/kernels/memory/memory.h"
#include "longspan/kernels/memory/plan.h"
#include "longspan/kernels/memory/sums.h"
#include "longspan/simd/target.h"

namespace longspan::kernels {
namespace memory {
namespace {

/// One forward call.
template <class S, class M>
class Forward {
  using T = Computed<S>;

 public:
  Forward(const MemoryForward<S, M>& p, const Parallel& parallel)
      : p_(p),
        parallel_(parallel),
        plan_(p.sequences, p.queries, p.causal ? p.state.count : nullptr, p.heads, parallel.workers()),
        items_(static_cast<int64_t>(plan_.items().size())),
        words_(words(p.accumulator)),
        stride_(padded(p.slots)),
        scratch_(parallel.workers()) {}

  void causal() {
    if (plan_.split()) sums_before();
    const double flops = 6.0 * p_.heads * plan_.total_rows() * p_.slots * p_.width;
    run_tasks(parallel_, plan_.tasks() * p_.heads, flops,
              [this](int64_t index, int worker) { causal_task(index % plan_.tasks(), index / plan_.tasks(), worker); });
    if (p_.state_out.count)
      for (int64_t s = 0; s < p_.sequences; ++s) p_.state_out.count[s] = plan_.start(s) + plan_.rows(s);
  }

  void full() {
    const Plan sources(p_.sequences, p_.sources, nullptr, p_.heads, parallel_.workers());
    AlignedBuffer<T> means(p_.sequences * p_.heads * stride_);
    full_memory(p_, p_.accumulator, sources, parallel_, means.data(), nullptr);
    const double flops = 4.0 * p_.heads * plan_.total_rows() * p_.slots * p_.width;
    run_tasks(parallel_, items_ * p_.heads, flops, [&](int64_t index, int worker) {
      const int64_t h = index / items_;
      ForwardScratch<T>& scratch = this->scratch(worker, h);
      for_each_part(plan_.items()[index % items_], [&](int64_t s, int64_t begin, int64_t end) {
        ReadRun<T> run = make_run(s, h, begin, end);
        run.h = means.data() + (s * p_.heads + h) * stride_;
        if (sources.rows(s) > 0)
          read_full(run, scratch);
        else
          zero_rows(run.out, end - begin, p_.width);
      });
    });
  }

 private:
  ForwardScratch<T>& scratch(int worker, int64_t head) {
    ForwardScratch<T>& scratch = scratch_[worker];
    if (scratch.z.size() == 0) scratch = ForwardScratch<T>(p_.slots, p_.width);
    scratch.basis.load(p_.basis + head * p_.basis_head_stride);
    return scratch;
  }
  /// Rows [begin, end) of sequence s and head h.
  ReadRun<T> make_run(int64_t s, int64_t h, int64_t begin, int64_t end) const {
    ReadRun<T> run;
    run.slots = p_.slots;
    run.width = p_.width;
    run.scale = p_.scale;
    run.rows = end - begin;
    run.count = plan_.start(s) + begin;
    run.dropout = {p_.dropout, s, h};
    run.q = Rows<const T>(p_.queries.at(p_.q, s, h), begin);
    run.out = Rows<T>(p_.queries.at(p_.out, s, h), begin);
    if (p_.causal) {
      run.m = Rows<const T>(p_.sources.at(p_.m, s, p_.features_of(h)), begin);
      run.window = p_.window;
      run.accumulator = p_.accumulator;
    }
    return run;
  }
  /// Number of a sequence and head in the arrays of the state.
  int64_t pair(int64_t s, int64_t h) const { return s * p_.heads + h; }
  int64_t chunk(int64_t s, int64_t h, int64_t k) const { return h * plan_.total_chunks() + plan_.chunk(s, k); }

  /// visit(s, begin, end) for the item's rows of each of its sequences.
  template <class F>
  void for_each_part(const Item& item, const F& visit) const {
    for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s)
      visit(s, plan_.chunk_row(s, item.chunk_begin), plan_.chunk_row(s, plan_.chunk_end(item, s)));
  }

  /// to [count][padded(slots)] = `from` [count][slots] of number `at`, or zeros for null; its padding, in which another
  /// sequence may have left NaN, becomes zero.
  void load_slots(const double* from, int64_t at, int64_t count, AlignedBuffer<double>& to) const {
    std::fill_n(to.data(), to.size(), 0.0);
    for (int64_t word = 0; from && word < count; ++word)
      std::copy_n(from + (at * count + word) * p_.slots, p_.slots, to.data() + word * stride_);
  }
  void store_slots(const AlignedBuffer<double>& from, int64_t count, double* to, int64_t at) const {
    for (int64_t word = 0; word < count; ++word)
      std::copy_n(from.data() + word * stride_, p_.slots, to + (at * count + word) * p_.slots);
  }

  /// closed_ and visible_ before each chunk. The sums of the chunks come from the same additions as in a stream.
  void sums_before() {
    const int64_t chunks = p_.heads * plan_.total_chunks();
    closed_ = AlignedBuffer<double>(chunks * words_ * p_.slots);
    if (p_.window > 0) {
      at_border_ = AlignedBuffer<double>(chunks * words_ * p_.slots);
      visible_ = AlignedBuffer<double>(chunks * p_.slots);
    }
    const double flops = 2.0 * p_.heads * plan_.total_rows() * p_.slots * p_.width;
    run_tasks(parallel_, items_ * p_.heads, flops, [this](int64_t index, int worker) {
      const int64_t h = index / items_;
      const Item& item = plan_.items()[index % items_];
      ForwardScratch<T>& scratch = this->scratch(worker, h);
      for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s)
        for (int64_t k = item.chunk_begin; k < plan_.chunk_end(item, s); ++k) sum_chunk(s, h, k, scratch);
    });
    for (int64_t s = 0; s < p_.sequences; ++s)
      for (int64_t h = 0; h < p_.heads; ++h) prefix(s, h);
  }
  /// closed_ = the chunk's own sums, at_border_ = those before its last window border.
  void sum_chunk(int64_t s, int64_t h, int64_t k, ForwardScratch<T>& scratch) {
    const int64_t begin = plan_.chunk_row(s, k), end = plan_.chunk_row(s, k + 1);
    const int64_t border = begin + plan_.rows_before_border(s, k, p_.window);
    load_slots(k == 0 ? p_.state.open : nullptr, pair(s, h), words_, scratch.open);
    if (border > begin) {
      add_projections(make_run(s, h, begin, border), scratch);
      store_slots(scratch.open, words_, at_border_.data(), chunk(s, h, k));
    }
    add_projections(make_run(s, h, border, end), scratch);
    store_slots(scratch.open, words_, closed_.data(), chunk(s, h, k));
  }
  void prefix(int64_t s, int64_t h) {
    AlignedBuffer<double> total(2 * stride_), seen(stride_), own(2 * stride_);
    load_slots(p_.state.closed, pair(s, h), words_, total);
    load_slots(p_.state.visible, pair(s, h), 1, seen);
    for (int64_t k = 0; k < plan_.chunks(s); ++k) {
      const int64_t c = chunk(s, h, k), before = plan_.rows_before_border(s, k, p_.window);
      load_slots(closed_.data(), c, words_, own);
      store_slots(total, words_, closed_.data(), c);
      if (p_.window > 0) store_slots(seen, 1, visible_.data(), c);
      if (before > 0) {
        AlignedBuffer<double> open(2 * stride_);
        load_slots(at_border_.data(), c, words_, open);
        const double inverse = 1.0 / static_cast<double>(plan_.start(s) + plan_.chunk_row(s, k) + before);
        for (int64_t i = 0; i < p_.slots; ++i)
          seen[i] = mean_of(p_.accumulator, total.data(), open.data(), stride_, i, inverse);
      }
      add_sums(p_.accumulator, p_.slots, total.data(), stride_, own.data(), stride_);
    }
  }

  void causal_task(int64_t task, int64_t h, int worker) {
    ForwardScratch<T>& scratch = this->scratch(worker, h);
    for (int64_t i = plan_.task_begin(task); i < plan_.task_begin(task + 1); ++i) {
      const Item& item = plan_.items()[i];
      for_each_part(item, [&](int64_t s, int64_t begin, int64_t end) {
        if (item.chunk_begin == 0) {
          load_slots(p_.state.closed, pair(s, h), words_, scratch.closed);
          load_slots(p_.state.open, pair(s, h), words_, scratch.open);
          load_slots(p_.state.visible, pair(s, h), 1, scratch.visible);
        } else if (plan_.split()) {
          const int64_t c = chunk(s, h, item.chunk_begin);
          load_slots(closed_.data(), c, words_, scratch.closed);
          load_slots(nullptr, 0, words_, scratch.open);
          load_slots(visible_.data(), c, 1, scratch.visible);
        }
        read_causal(make_run(s, h, begin, end), scratch);
        if (end < plan_.rows(s) || !p_.state_out.closed) return;
        store_slots(scratch.closed, words_, p_.state_out.closed, pair(s, h));
        store_slots(scratch.open, words_, p_.state_out.open, pair(s, h));
        if (p_.state_out.visible) store_slots(scratch.visible, 1, p_.state_out.visible, pair(s, h));
      });
    }
  }

  const MemoryForward<S, M>& p_;
  const Parallel& parallel_;
  const Plan plan_;
  const int64_t items_, words_, stride_;
  std::vector<ForwardScratch<T>> scratch_;    ///< made when a worker first needs it
  AlignedBuffer<double> closed_, at_border_;  ///< [H][chunks][words][slots], of a split call
  AlignedBuffer<double> visible_;             ///< [H][chunks][slots]
};

template <class S, class M>
void forward(const MemoryForward<S, M>& p, const Parallel& parallel) {
  check_memory(p);
  simd::ensure_target();
  Forward<S, M> call(p, parallel);
  if (p.causal)
    call.causal();
  else
    call.full();
}

}  // namespace
}  // namespace memory

void memory_forward(const MemoryForward<float>& params, const Parallel& parallel) { memory::forward(params, parallel); }
void memory_forward(const MemoryForward<double>& params, const Parallel& parallel) {
  memory::forward(params, parallel);
}
void memory_forward(const MemoryForward<BFloat16>& params, const Parallel& parallel) {
  memory::forward(params, parallel);
}
void memory_forward(const MemoryForward<BFloat16, float>& params, const Parallel& parallel) {
  memory::forward(params, parallel);
}

}  // namespace longspan::kernels
