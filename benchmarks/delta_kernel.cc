// Rate of the delta memory kernels in useful flops: 6 R D a row and head forward (the recurrence's prediction, write
// and read), 4 R D without delta; twice that backward (two gradients for each product). What the chunked form adds, and
// what is recomputed, does not count.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "benchmarks/peak.h"
#include "longspan/base/parallel.h"
#include "longspan/kernels/delta/delta_memory.h"
#include "longspan/simd/target.h"

namespace longspan::benchmarks {
namespace {

using kernels::DeltaDecay;

/// q, k, v lie in memory as S, [row, head, width], as a module's projections do.
template <class S>
struct Inputs {
  using T = Computed<S>;
  int64_t length, heads, slots, width, decay_width;
  kernels::DeltaForward<S> options;
  std::vector<S> q, k, v, dout, out, dq, dk, dv;
  std::vector<T> beta, log_alpha, dbeta, dlog_alpha, segments;
  std::vector<T> memory, keys, writes, decays, next_memory, next_keys, next_writes, next_decays;
  std::vector<int64_t> position;

  Inputs(int64_t n, int64_t h, int64_t r, int64_t d, const kernels::DeltaForward<S>& chosen)
      : length(n),
        heads(h),
        slots(r),
        width(d),
        decay_width(chosen.decay == DeltaDecay::slot ? r : 1),
        options(chosen),
        q(n * h * r),
        k(n * h * r),
        v(n * h * d),
        dout(n * h * d),
        beta(n * h),
        log_alpha(n * h * decay_width),
        memory(h * r * d),
        keys(h * kernels::kDeltaChunk * r),
        writes(h * kernels::kDeltaChunk * d),
        decays(h * kernels::kDeltaChunk * decay_width),
        position(1) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (auto* x : {&q, &k, &v, &dout})
      for (S& y : *x) y = static_cast<S>(static_cast<T>(normal(random) * (x == &v ? 1 : 1 / std::sqrt(slots))));
    for (T& y : beta) y = static_cast<T>(0.5 + 0.1 * normal(random));
    for (T& y : log_alpha) y = static_cast<T>(-0.01 * std::abs(normal(random)));
    out = dv = v, dq = q, dk = k, dbeta = beta, dlog_alpha = log_alpha;
    set(options);
    next_memory = memory, next_keys = keys, next_writes = writes, next_decays = decays;
    segments.resize(kernels::delta_segments<S>(options) * slots * width);
  }
  template <class X>
  RowsView<X> view(X* data, int64_t columns) const {
    return {data, 0, columns, heads * columns};
  }
  void set(kernels::DeltaParams<S>& p) const {
    p.sequences = 1, p.heads = heads, p.slots = slots, p.width = width, p.rows.rows = length;
    p.q = view(q.data(), slots), p.k = view(k.data(), slots), p.v = view(v.data(), width);
    p.beta = view(beta.data(), 1), p.log_alpha = view(log_alpha.data(), decay_width);
  }
  void forward(const Parallel& parallel) {
    options.out = view(out.data(), width), options.segments = segments.data();
    kernels::delta_forward(options, parallel);
  }
  void backward(const Parallel& parallel) {
    kernels::DeltaBackward<S> p;
    static_cast<kernels::DeltaParams<S>&>(p) = options;
    p.segments = segments.data(), p.dout = view<const S>(dout.data(), width);
    p.dq = view(dq.data(), slots), p.dk = view(dk.data(), slots), p.dv = view(dv.data(), width);
    p.dbeta = view(dbeta.data(), 1), p.dlog_alpha = view(dlog_alpha.data(), decay_width);
    kernels::delta_backward(p, parallel);
  }
  void step(const Parallel& parallel) {
    options.out = view(out.data(), width);
    options.state = {memory.data(), keys.data(), writes.data(), decays.data(), position.data()};
    int64_t next = 0;
    options.state_out = {next_memory.data(), next_keys.data(), next_writes.data(), next_decays.data(), &next};
    kernels::delta_forward(options, parallel);
    memory.swap(next_memory), keys.swap(next_keys), writes.swap(next_writes), decays.swap(next_decays);
    position[0] = next;
  }
};

template <class S>
kernels::DeltaForward<S> with(DeltaDecay decay, bool delta = true) {
  kernels::DeltaForward<S> options;
  options.decay = decay, options.delta = delta;
  return options;
}

// Arguments: length, heads, slots, width, threads. One thread is timed by processor time, so that other programs on the
// machine do not count; several by the clock.
template <class S>
void run(benchmark::State& state, bool backward, const kernels::DeltaForward<S>& options) {
  using T = Computed<S>;
  Inputs<S> inputs(state.range(0), state.range(1), state.range(2), state.range(3), options);
  const ThreadPool pool(static_cast<int>(state.range(4)));
  inputs.forward(pool);
  for (auto _ : state) {
    if (backward)
      inputs.backward(pool);
    else
      inputs.forward(pool);
  }
  static const double peak = sizeof(T) == sizeof(float) ? peak_float() : peak_double();
  const double product =
      static_cast<double>(inputs.length * inputs.heads) * static_cast<double>(inputs.slots * inputs.width);
  const double flops = (options.delta ? 6.0 : 4.0) * (backward ? 2.0 : 1.0) * product;
  state.SetLabel(simd::active_target());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_peak"] = benchmark::Counter(flops / (peak * static_cast<double>(state.range(4))),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak_GFLOP/s"] = peak * 1e-9;
}

void forward_float32(benchmark::State& state) { run(state, false, with<float>(DeltaDecay::scalar)); }
void backward_float32(benchmark::State& state) { run(state, true, with<float>(DeltaDecay::scalar)); }
void slot_forward_float32(benchmark::State& state) { run(state, false, with<float>(DeltaDecay::slot)); }
void slot_backward_float32(benchmark::State& state) { run(state, true, with<float>(DeltaDecay::slot)); }
void linear_forward_float32(benchmark::State& state) { run(state, false, with<float>(DeltaDecay::slot, false)); }
void linear_backward_float32(benchmark::State& state) { run(state, true, with<float>(DeltaDecay::slot, false)); }
void forward_bfloat16(benchmark::State& state) { run(state, false, with<BFloat16>(DeltaDecay::scalar)); }
void backward_bfloat16(benchmark::State& state) { run(state, true, with<BFloat16>(DeltaDecay::scalar)); }
void forward_float64(benchmark::State& state) { run(state, false, with<double>(DeltaDecay::scalar)); }
void backward_float64(benchmark::State& state) { run(state, true, with<double>(DeltaDecay::scalar)); }

// One token at a time: heads, slots, width.
template <DeltaDecay kDecay>
void step_float32(benchmark::State& state) {
  Inputs<float> inputs(1, state.range(0), state.range(1), state.range(2), with<float>(kDecay));
  const SerialParallel serial;
  for (auto _ : state) inputs.step(serial);
  state.SetLabel(simd::active_target());
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "r", "d", "threads"});
  bench->Args({4096, 8, 64, 64, 1})->Args({4096, 4, 32, 32, 1})->Args({4096, 4, 128, 128, 1});
}
void growth(benchmark::internal::Benchmark* bench) {
  bench->Args({1 << 14, 1, 64, 64, 1})->Args({1 << 16, 1, 64, 64, 1})->Args({1 << 18, 1, 64, 64, 1});
}
void two_threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "r", "d", "threads"})->UseRealTime()->Args({4096, 8, 64, 64, 2});
}

BENCHMARK(forward_float32)->Apply(shapes)->Apply(growth);
BENCHMARK(forward_float32)->Apply(two_threads);
BENCHMARK(backward_float32)->Apply(shapes)->Apply(growth);
BENCHMARK(backward_float32)->Apply(two_threads);
BENCHMARK(slot_forward_float32)->Apply(shapes);
BENCHMARK(slot_backward_float32)->Apply(shapes);
BENCHMARK(linear_forward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(linear_backward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(forward_bfloat16)->Args({4096, 8, 64, 64, 1});
BENCHMARK(backward_bfloat16)->Args({4096, 8, 64, 64, 1});
BENCHMARK(forward_float64)->Args({4096, 8, 64, 64, 1});
BENCHMARK(backward_float64)->Args({4096, 8, 64, 64, 1});
BENCHMARK(step_float32<DeltaDecay::scalar>)->ArgNames({"heads", "r", "d"})->Args({8, 64, 64})->Args({4, 32, 32});
BENCHMARK(step_float32<DeltaDecay::slot>)->ArgNames({"heads", "r", "d"})->Args({8, 64, 64});

}  // namespace
}  // namespace longspan::benchmarks
