// What the backward calls of the causal and the full form share: work items, runs of rows, sums of the basis gradient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "longspan/kernels/memory/backward.h"
#include "longspan/kernels/memory/memory.h"
#include "longspan/kernels/memory/plan.h"
#include "longspan/kernels/memory/sums.h"

namespace longspan::kernels::memory {

/// One backward call. Phases run one after the other, each over independent tasks.
template <class S, class M>
class BackwardCall {
 protected:
  using T = Computed<S>;
  using Scratch = BackwardScratch<T>;

  BackwardCall(const MemoryBackward<S, M>& p, const Parallel& parallel)
      : p_(p),
        parallel_(parallel),
        features_(p.features()),
        group_(p.group()),
        plan_(p.sequences, p.queries, p.causal ? p.state.count : nullptr, features_, parallel.workers()),
        items_(static_cast<int64_t>(plan_.items().size())),
        scratch_(parallel.workers()),
        row_flops_(2.0 * p.heads * p.slots * p.width),
        partial_(items_ * p.heads * p.slots * p.width),
        dsums_(p.heads * plan_.total_chunks() * p.slots) {}

  /// Weights [S][H][slots] and sums [S][Hm][width] whose outer products belong to dbasis.
  struct Outer {
    const double* weights = nullptr;
    const double* sums = nullptr;
  };

  Scratch& scratch(int worker) {
    Scratch& s = scratch_[worker];
    if (s.h.size() == 0) s = Scratch(p_.slots, p_.width, group_);
    return s;
  }
  const T* basis(int64_t h) const { return p_.basis + h * p_.basis_head_stride; }
  /// Row of sequence s, head h in the [S][H][slots] arrays of the state.
  int64_t state(int64_t s, int64_t h) const { return (s * p_.heads + h) * p_.slots; }
  /// Row of a chunk in [H][chunks][slots], and in [Hm][chunks][width].
  int64_t slots_at(int64_t s, int64_t h, int64_t k) const {
    return (h * plan_.total_chunks() + plan_.chunk(s, k)) * p_.slots;
  }
  double* partial(int64_t item, int64_t h) { return partial_.data() + (h * items_ + item) * p_.slots * p_.width; }
  template <class F>
  void for_each_pair(const F& visit) const {
    for (int64_t s = 0; s < p_.sequences; ++s)
      for (int64_t h = 0; h < p_.heads; ++h) visit(s, h);
  }
  template <class F>
  void for_each_chunk(int64_t item_index, const F& visit) const {
    const Item& item = plan_.items()[item_index];
    for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s)
      for (int64_t k = item.chunk_begin; k < plan_.chunk_end(item, s); ++k) visit(s, k);
  }
  template <class F>
  void for_each_head(int64_t g, const F& visit) const {
    for (int64_t h = g * group_; h < (g + 1) * group_; ++h) visit(h);
  }

  GradientRun<T> make_run(int64_t s, int64_t h, int64_t k) {
    const int64_t begin = plan_.chunk_row(s, k);
    GradientRun<T> run;
    run.slots = p_.slots;
    run.width = p_.width;
    run.rows = plan_.chunk_row(s, k + 1) - begin;
    run.scale = p_.scale;
    run.count = plan_.start(s) + begin;
    run.dropout = {p_.dropout, s, h};
    run.q = Rows<const T>(p_.queries.at(p_.q, s, h), begin);
    run.dout = Rows<const T>(p_.queries.at(p_.dout, s, h), begin);
    run.dq = Rows<T>(p_.queries.at(p_.dq, s, h), begin);
    run.dsums = dsums_.data() + slots_at(s, h, k);
    return run;
  }

  void add_panel(const T* panel, double* sum) {
    for (int64_t slot = 0; slot < p_.slots; ++slot)
      add_to(panel + slot * padded(p_.width), p_.width, sum + slot * p_.width);
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
          add_outer(outer.weights + state(s, h), p_.slots, outer.sums + (s * features_ + p_.features_of(h)) * p_.width,
                    p_.width, total.data(), p_.width);
      }
      for (int64_t i = 0; i < size; ++i) p_.dbasis[index * size + i] = static_cast<T>(total[i]);
    });
  }

  const MemoryBackward<S, M>& p_;
  const Parallel& parallel_;
  const int64_t features_, group_;  ///< heads of m, and query heads for each
  const Plan plan_;
  const int64_t items_;
  std::vector<Scratch> scratch_;
  const double row_flops_;         ///< of one product over one row of every head
  AlignedBuffer<double> partial_;  ///< [H][items][slots][width] parts of dbasis
  AlignedBuffer<double> dsums_;    ///< [H][chunks][slots] what a chunk asks of the sums before its end
};

template <class S, class M>
void causal_backward(const MemoryBackward<S, M>& p, const Parallel& parallel);
template <class S, class M>
void full_backward(const MemoryBackward<S, M>& p, const Parallel& parallel);

}  // namespace longspan::kernels::memory
