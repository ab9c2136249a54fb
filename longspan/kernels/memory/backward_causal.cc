// The backward call of the causal form: what passes between chunks.
//
// The gradient of z_j is the suffix sum of dh_t / count_t over the readers t of j: a sum within j's chunk plus one
// vector per chunk for all later chunks, S (`later_`). S reaches dm as one row for the whole chunk (S B) and dbasis as
// one outer product per chunk (S with the sum of the chunk's m), so that chunks need no order. With a window that lies
// across the end of a chunk, the chunk's rows before that window have a second vector, P (`earlier_`): what the
// window's rows in later chunks ask of them.
//
// Where dm is rounded, nothing can be added to it later: if a sequence is split, a pass of its own, before that of the
// gradients, finds what every chunk asks, and so S and P.
#include <type_traits>

#include "longspan/base/run_tasks.h"
#include "longspan/kernels/memory/backward_call.h"
#include "longspan/kernels/memory/storages.h"

namespace longspan::kernels::memory {
namespace {

template <class S, class M>
class Causal : BackwardCall<S, M> {
  using Call = BackwardCall<S, M>;
  using typename Call::Scratch;
  using typename Call::T;

 public:
  Causal(const MemoryBackward<S, M>& p, const Parallel& parallel)
      : Call(p, parallel), sums_first_(plan_.split() && !std::is_same_v<M, T>) {}

  void run() {
    const int64_t chunks = plan_.total_chunks(), of_slots = p_.heads * chunks * p_.slots;
    msums_ = AlignedBuffer<double>(features_ * chunks * p_.width);
    closed_ = AlignedBuffer<double>(of_slots);
    later_ = AlignedBuffer<double>(of_slots);
    if (p_.window > 0) {
      msums_before_ = AlignedBuffer<double>(features_ * chunks * p_.width);
      for (AlignedBuffer<double>* x : {&visible_, &earlier_, &pending_}) *x = AlignedBuffer<double>(of_slots);
    }
    chunk_sums(p_, plan_, parallel_, msums_.data(), p_.window > 0 ? msums_before_.data() : nullptr);
    project_sums();
    for_each_pair([this](int64_t s, int64_t h) { prefix(s, h); });
    if (sums_first_) {
      run_tasks(parallel_, items_ * p_.heads, 3 * row_flops_ * plan_.total_rows(),
                [this](int64_t index, int worker) { item_sums(index % items_, index / items_, worker); });
      for_each_pair([this](int64_t s, int64_t h) { suffix(s, h); });
    }
    run_tasks(parallel_, plan_.tasks() * features_, 8 * row_flops_ * plan_.total_rows(),
              [this](int64_t index, int worker) { causal_task(index % plan_.tasks(), index / plan_.tasks(), worker); });
    if (!sums_first_) for_each_pair([this](int64_t s, int64_t h) { suffix(s, h); });
    later_chunks();
    reduce_basis({});
  }

 private:
  using Call::add_panel;
  using Call::basis;
  using Call::dsums_;
  using Call::features_;
  using Call::for_each_chunk;
  using Call::for_each_head;
  using Call::for_each_pair;
  using Call::group_;
  using Call::items_;
  using Call::make_run;
  using Call::p_;
  using Call::parallel_;
  using Call::partial;
  using Call::plan_;
  using Call::reduce_basis;
  using Call::row_flops_;
  using Call::slots_at;
  using Call::state;

  int64_t features_at(int64_t s, int64_t g, int64_t k) const {
    return (g * plan_.total_chunks() + plan_.chunk(s, k)) * p_.width;
  }
  int64_t rows_before_border(int64_t s, int64_t k) const { return plan_.rows_before_border(s, k, p_.window); }
  /// 1 / the position of the chunk's last window border.
  double at_border(int64_t s, int64_t k) const {
    return 1.0 / static_cast<double>(plan_.start(s) + plan_.chunk_row(s, k) + rows_before_border(s, k));
  }
  /// Gradient of what chunk k adds to the sums that leave the call, element i.
  double outgoing(int64_t s, int64_t h, int64_t k, int64_t i) const {
    const double* d = plan_.complete(s, k) ? p_.dstate_out.closed : p_.dstate_out.open;
    return d ? d[state(s, h) + i] : 0.0;
  }
  /// Whether causal_task() can finish the item's dm.
  bool knows_later(const Item& item) const {
    return !plan_.split() || sums_first_ ||
           plan_.chunk_end(item, item.sequence_begin) == plan_.chunks(item.sequence_begin);
  }

  /// closed_ = the sum of z over each chunk, from the sum of m: H needs no bits of the forward, only its accuracy. With
  /// a window visible_ = that of the rows before the last border.
  void project_sums() {
    run_tasks(parallel_, items_ * p_.heads, row_flops_ * plan_.total_chunks(), [this](int64_t index, int) {
      const int64_t h = index / items_, g = p_.features_of(h);
      for_each_chunk(index % items_, [&](int64_t s, int64_t k) {
        const int64_t m = features_at(s, g, k), z = slots_at(s, h, k);
        project(basis(h), p_.slots, p_.width, msums_.data() + m, closed_.data() + z);
        if (p_.window > 0) project(basis(h), p_.slots, p_.width, msums_before_.data() + m, visible_.data() + z);
      });
    });
  }

  /// closed_ = the sum before each chunk, visible_ = the memory of its first row.
  void prefix(int64_t s, int64_t h) {
    for (int64_t i = 0; i < p_.slots; ++i) {
      const auto of_state = [&](const double* x) { return x ? x[state(s, h) + i] : 0.0; };
      double total = of_state(p_.state.closed), open = of_state(p_.state.open), seen = of_state(p_.state.visible);
      for (int64_t k = 0; k < plan_.chunks(s); ++k, open = 0) {
        const int64_t at = slots_at(s, h, k) + i;
        const double chunk_sum = closed_[at] + open;
        closed_[at] = total;
        if (p_.window > 0) {
          const double before_border = visible_[at];
          visible_[at] = seen;
          if (rows_before_border(s, k) > 0) seen = (total + open + before_border) * at_border(s, k);
        }
        total += chunk_sum;
      }
    }
  }

  GradientRun<T> causal_chunk(int64_t s, int64_t h, int64_t k) {
    const int64_t at = slots_at(s, h, k);
    GradientRun<T> run = make_run(s, h, k);
    run.m = Rows<const T>(p_.sources.at(p_.m, s, p_.features_of(h)), plan_.chunk_row(s, k));
    run.first_of_group = h % group_ == 0;
    run.window = p_.window;
    run.closed = closed_.data() + at;
    if (k == 0 && p_.state.open) run.open = p_.state.open + state(s, h);
    if (p_.window > 0) {
      run.visible = visible_.data() + at;
      run.pending = pending_.data() + at;
    }
    return run;
  }

  /// What passes from chunk to chunk, [slots]: what the chunks behind ask of all rows before them, and the part of the
  /// window under way at their beginning.
  struct Carry {
    double* total;
    double* pending;
  };
  void begin_carry(int64_t s, int64_t h, const Carry& carry) const {
    std::fill_n(carry.total, p_.slots, 0.0);
    std::fill_n(carry.pending, p_.slots, 0.0);
    if (p_.dstate_out.visible) std::copy_n(p_.dstate_out.visible + state(s, h), p_.slots, carry.pending);
  }
  /// later_ and earlier_ of chunk k.
  void take_carry(int64_t s, int64_t h, int64_t k, const Carry& carry) {
    const int64_t at = slots_at(s, h, k);
    for (int64_t i = 0; i < p_.slots; ++i) later_[at + i] = carry.total[i] + outgoing(s, h, k, i);
    if (rows_before_border(s, k) == 0) return;
    const double inverse = at_border(s, k);
    for (int64_t i = 0; i < p_.slots; ++i) earlier_[at + i] = carry.pending[i] * inverse;
  }
  /// What chunk k asks joins.
  void add_carry(int64_t s, int64_t h, int64_t k, const Carry& carry) const {
    const int64_t at = slots_at(s, h, k);
    const bool border = rows_before_border(s, k) > 0;
    for (int64_t i = 0; i < p_.slots; ++i) {
      carry.total[i] += dsums_[at + i] + (border ? earlier_[at + i] : 0.0);
      if (p_.window > 0) carry.pending[i] = pending_[at + i] + (border ? 0.0 : carry.pending[i]);
    }
  }

  /// What the item's chunks ask of the rows before them.
  void item_sums(int64_t i, int64_t h, int worker) {
    Scratch& scratch = this->scratch(worker);
    scratch.basis.load(basis(h));
    for_each_chunk(i, [&](int64_t s, int64_t k) {
      GradientRun<T> run = causal_chunk(s, h, k);
      run.sums_alone = true;
      chunk_gradient(run, scratch);
    });
  }

  /// Gradients of the task's chunks, the last ones first. What later chunks ask for is known where the task began at
  /// the sequence's end; else later_chunks() adds it. Both add the same number to the same number.
  void causal_task(int64_t task, int64_t g, int worker) {
    Scratch& scratch = this->scratch(worker);
    const auto carry = [&](int64_t h) {
      const int64_t at = h % group_ * p_.slots;
      return Carry{scratch.later.data() + at, scratch.later_pending.data() + at};
    };
    for (int64_t i = plan_.task_begin(task + 1) - 1; i >= plan_.task_begin(task); --i) {
      const Item& item = plan_.items()[i];
      const bool known = knows_later(item);
      for_each_head(g, [&](int64_t h) { std::fill_n(partial(i, h), p_.slots * p_.width, 0.0); });
      for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s) {
        const int64_t end = plan_.chunk_end(item, s);
        if (end == plan_.chunks(s)) for_each_head(g, [&](int64_t h) { begin_carry(s, h, carry(h)); });
        for (int64_t k = end - 1; k >= item.chunk_begin; --k) {
          for_each_head(g, [&](int64_t h) {
            scratch.basis.load(basis(h));
            chunk_gradient(causal_chunk(s, h, k), scratch);
            add_panel(scratch.dbasis.data(), partial(i, h));
            if (!known || sums_first_) return;
            take_carry(s, h, k, carry(h));
            add_carry(s, h, k, carry(h));
          });
          const Rows<T> dm(p_.sources.at(p_.dm, s, g), plan_.chunk_row(s, k));
          if (known)
            write_features(s, g, k, scratch.dm.data(), padded(p_.width), dm, scratch);
          else
            write_rows<T>(scratch.dm.data(), padded(p_.width), rows_of(s, k), p_.width, nullptr, dm);
        }
      }
    }
  }
  int64_t rows_of(int64_t s, int64_t k) const { return plan_.chunk_row(s, k + 1) - plan_.chunk_row(s, k); }

  /// The chunk's rows of dm: `from` and what later chunks ask, added up over the group.
  void write_features(int64_t s, int64_t g, int64_t k, const T* from, int64_t stride, const Rows<T>& dm,
                      Scratch& scratch) {
    const int64_t before = rows_before_border(s, k), rows = rows_of(s, k);
    std::fill_n(scratch.expanded.data(), p_.width, 0.0);
    const auto add = [&](const AlignedBuffer<double>& asked) {
      for_each_head(g, [&](int64_t h) {
        expand(basis(h), p_.slots, p_.width, asked.data() + slots_at(s, h, k), scratch.expanded.data());
      });
      for (int64_t j = 0; j < p_.width; ++j) scratch.addend[j] = static_cast<T>(scratch.expanded[j]);
    };
    add(later_);
    write_rows<T>(from + before * stride, stride, rows - before, p_.width, scratch.addend.data(), dm.from(before));
    if (before == 0) return;
    add(earlier_);
    write_rows<T>(from, stride, before, p_.width, scratch.addend.data(), dm);
  }

  /// later_ and earlier_ of every chunk; and the gradient of the incoming state.
  void suffix(int64_t s, int64_t h) {
    AlignedBuffer<double> total(p_.slots), pending(p_.slots);
    const Carry carry{total.data(), pending.data()};
    begin_carry(s, h, carry);
    for (int64_t k = plan_.chunks(s) - 1; k >= 0; --k) {
      take_carry(s, h, k, carry);
      add_carry(s, h, k, carry);
    }
    for (int64_t i = 0; i < p_.slots; ++i) {
      const int64_t at = state(s, h) + i;
      const double to_closed = p_.dstate_out.closed ? p_.dstate_out.closed[at] : 0.0;
      const double to_open = p_.dstate_out.open ? p_.dstate_out.open[at] : 0.0;
      if (p_.dstate.closed) p_.dstate.closed[at] = total[i] + to_closed;
      if (p_.dstate.open) p_.dstate.open[at] = total[i] + (plan_.chunks(s) > 0 ? outgoing(s, h, 0, i) : to_open);
      if (p_.dstate.visible) p_.dstate.visible[at] = pending[i];
    }
  }

  void later_chunks() {
    run_tasks(parallel_, items_ * features_, row_flops_ * plan_.total_chunks(), [this](int64_t index, int worker) {
      const int64_t i = index % items_, g = index / items_;
      const bool known = knows_later(plan_.items()[i]);
      for_each_chunk(i, [&](int64_t s, int64_t k) {
        const int64_t m = features_at(s, g, k);
        for_each_head(g, [&](int64_t h) {
          const int64_t z = slots_at(s, h, k);
          add_outer(later_.data() + z, p_.slots, msums_.data() + m, p_.width, partial(i, h), p_.width);
          if (rows_before_border(s, k) > 0)
            add_outer(earlier_.data() + z, p_.slots, msums_before_.data() + m, p_.width, partial(i, h), p_.width);
        });
        if (known) return;
        const Rows<T> dm(p_.sources.at(p_.dm, s, g), plan_.chunk_row(s, k));
        write_features(s, g, k, dm.wide, dm.stride, dm, this->scratch(worker));
      });
    });
  }

  const bool sums_first_;               ///< suffix() runs before the gradients
  AlignedBuffer<double> msums_;         ///< [Hm][chunks][width] sums of m
  AlignedBuffer<double> closed_;        ///< [H][chunks][slots]
  AlignedBuffer<double> later_;         ///< [H][chunks][slots] S
  AlignedBuffer<double> msums_before_;  ///< [Hm][chunks][width] with a window: over the rows before the last border
  AlignedBuffer<double> visible_;       ///< [H][chunks][slots] with a window: memory of the first row
  AlignedBuffer<double> earlier_;       ///< [H][chunks][slots] with a window: P, where a chunk has a border
  AlignedBuffer<double> pending_;       ///< [H][chunks][slots] with a window: GradientRun::pending
};

}  // namespace

template <class S, class M>
void causal_backward(const MemoryBackward<S, M>& p, const Parallel& parallel) {
  Causal<S, M>(p, parallel).run();
}

#define LONGSPAN_INSTANTIATE(S, M) template void causal_backward(const MemoryBackward<S, M>&, const Parallel&);
LONGSPAN_FOR_EACH_MEMORY_STORAGE(LONGSPAN_INSTANTIATE)
#undef LONGSPAN_INSTANTIATE

}  // namespace longspan::kernels::memory
