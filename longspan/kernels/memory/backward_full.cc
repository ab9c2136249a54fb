// The backward call of the full form: every query reads one memory, and every source gets one gradient.
#include "longspan/base/run_tasks.h"
#include "longspan/kernels/memory/backward_call.h"
#include "longspan/kernels/memory/storages.h"

namespace longspan::kernels::memory {
namespace {

template <class S, class M>
class Full : BackwardCall<S, M> {
  using Call = BackwardCall<S, M>;
  using typename Call::Scratch;
  using typename Call::T;

 public:
  Full(const MemoryBackward<S, M>& p, const Parallel& parallel) : Call(p, parallel) {}

  void run() {
    const Plan sources(p_.sequences, p_.sources, nullptr, features_, parallel_.workers());
    AlignedBuffer<T> means(p_.sequences * p_.heads * padded(p_.slots));
    AlignedBuffer<double> totals(p_.sequences * features_ * p_.width);
    full_memory(p_, Accumulator::float64, sources, parallel_, means.data(), totals.data());
    run_tasks(parallel_, items_ * p_.heads, 5 * row_flops_ * plan_.total_rows(), [&](int64_t index, int worker) {
      full_item(index % items_, index / items_, sources, means.data(), worker);
    });
    AlignedBuffer<double> dsums(p_.sequences * p_.heads * p_.slots);
    spread_sources(sources, dsums.data());
    reduce_basis({dsums.data(), totals.data()});
  }

 private:
  using Call::add_panel;
  using Call::basis;
  using Call::dsums_;
  using Call::features_;
  using Call::for_each_chunk;
  using Call::for_each_head;
  using Call::for_each_pair;
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

  void full_item(int64_t i, int64_t h, const Plan& sources, const T* means, int worker) {
    Scratch& scratch = this->scratch(worker);
    scratch.basis.load(basis(h));
    double* sum = partial(i, h);
    std::fill_n(sum, p_.slots * p_.width, 0.0);
    for_each_chunk(i, [&](int64_t s, int64_t k) {
      GradientRun<T> run = make_run(s, h, k);
      if (sources.rows(s) == 0) {
        zero_rows(run.dq, run.rows, p_.width);
        std::fill_n(run.dsums, p_.slots, 0.0);
        return;
      }
      run.h = means + (s * p_.heads + h) * padded(p_.slots);
      chunk_gradient(run, scratch);
      add_panel(scratch.dbasis.data(), sum);
    });
  }

  /// Full form: every source row gets the same gradient, the sum over all queries divided by the number of sources.
  void spread_sources(const Plan& sources, double* dsums) {
    for_each_pair([&](int64_t s, int64_t h) {
      double* sum = dsums + state(s, h);
      std::fill_n(sum, p_.slots, 0.0);
      for (int64_t k = 0; k < plan_.chunks(s); ++k) add_to<double>(dsums_.data() + slots_at(s, h, k), p_.slots, sum);
      const double inverse = sources.rows(s) ? 1.0 / static_cast<double>(sources.rows(s)) : 0.0;
      for (int64_t i = 0; i < p_.slots; ++i) sum[i] *= inverse;
    });
    const int64_t items = static_cast<int64_t>(sources.items().size());
    const double flops = static_cast<double>(sources.total_rows()) * features_ * p_.width;
    run_tasks(parallel_, items * features_, flops, [&](int64_t index, int worker) {
      const int64_t g = index / items;
      const Item& item = sources.items()[index % items];
      Scratch& scratch = this->scratch(worker);
      for (int64_t s = item.sequence_begin; s < item.sequence_end; ++s) {
        std::fill_n(scratch.expanded.data(), p_.width, 0.0);
        for_each_head(
            g, [&](int64_t h) { expand(basis(h), p_.slots, p_.width, dsums + state(s, h), scratch.expanded.data()); });
        for (int64_t j = 0; j < p_.width; ++j) scratch.addend[j] = static_cast<T>(scratch.expanded[j]);
        const int64_t begin = sources.chunk_row(s, item.chunk_begin);
        const int64_t end = sources.chunk_row(s, sources.chunk_end(item, s));
        write_rows<T>(scratch.addend.data(), 0, end - begin, p_.width, nullptr,
                      Rows<T>(p_.sources.at(p_.dm, s, g), begin));
      }
    });
  }
};

}  // namespace

template <class S, class M>
void full_backward(const MemoryBackward<S, M>& p, const Parallel& parallel) {
  Full<S, M>(p, parallel).run();
}

#define LONGSPAN_INSTANTIATE(S, M) template void full_backward(const MemoryBackward<S, M>&, const Parallel&);
LONGSPAN_FOR_EACH_MEMORY_STORAGE(LONGSPAN_INSTANTIATE)
#undef LONGSPAN_INSTANTIATE

}  // namespace longspan::kernels::memory
