// Rate of the orthogonal memory kernels in useful flops: 6 r d a row and head forward (causal) or 4 r d (full), 12 r d
// or 8 r d backward (two gradients for each product of the forward; what is recomputed does not count).
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "benchmarks/peak.h"
#include "longspan/base/parallel.h"
#include "longspan/kernels/memory/memory.h"
#include "longspan/simd/target.h"

namespace longspan::benchmarks {
namespace {

/// q and m lie in memory as S.
template <class S>
struct Inputs {
  using T = Computed<S>;
  int64_t length, heads, width, slots;
  std::vector<S> q, m, dout, out, dq, dm;
  std::vector<T> basis, dbasis;
  std::vector<double> closed, open, closed_out, open_out;
  int64_t count = 0, count_out = 0;

  Inputs(int64_t n, int64_t h, int64_t d, int64_t r) : length(n), heads(h), width(d), slots(r) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (auto* tensor : {&q, &m, &dout}) {
      tensor->resize(static_cast<std::size_t>(n * h * d));
      for (S& value : *tensor) value = static_cast<S>(static_cast<T>(normal(random)));
    }
    basis.resize(static_cast<std::size_t>(h * r * d));
    for (T& value : basis) value = static_cast<T>(normal(random) / std::sqrt(static_cast<double>(d)));
    out = dq = dm = q;
    dbasis = basis;
    closed.resize(static_cast<std::size_t>(h * r));
    open = closed_out = open_out = closed;
  }
  // [row, head, width], as a module's projections lie.
  RowsView<S> view(std::vector<S>& tensor) { return {tensor.data(), 0, width, heads * width}; }
  RowsView<const S> const_view(const std::vector<S>& tensor) { return {tensor.data(), 0, width, heads * width}; }
  /// The operands, into a call that has its options.
  void set(kernels::MemoryParams<S>& p) {
    p.sequences = 1;
    p.heads = heads;
    p.slots = slots;
    p.width = width;
    p.queries.rows = p.sources.rows = length;
    p.q = const_view(q);
    p.m = const_view(m);
    p.basis = basis.data();
    p.basis_head_stride = slots * width;
  }
  void forward(const Parallel& parallel, kernels::MemoryForward<S> p) {
    set(p);
    p.out = view(out);
    kernels::memory_forward(p, parallel);
  }
  void backward(const Parallel& parallel, const kernels::MemoryParams<S>& options) {
    kernels::MemoryBackward<S> p;
    static_cast<kernels::MemoryParams<S>&>(p) = options;
    set(p);
    p.dout = const_view(dout);
    p.dq = view(dq);
    p.dm = view(dm);
    p.dbasis = dbasis.data();
    kernels::memory_backward(p, parallel);
  }
  void step(const Parallel& parallel) {
    kernels::MemoryForward<S> p;
    set(p);
    p.out = view(out);
    p.state = {closed.data(), open.data(), &count, nullptr};
    p.state_out = {closed_out.data(), open_out.data(), &count_out, nullptr};
    kernels::memory_forward(p, parallel);
    std::swap(closed, closed_out);
    std::swap(open, open_out);
    count = count_out;
  }
};

// Arguments: length, heads, width, slots, threads. One thread is timed by processor time, so that other programs on the
// machine do not count; several by the clock.
template <class S>
void run(benchmark::State& state, bool backward, const kernels::MemoryForward<S>& options) {
  using T = Computed<S>;
  Inputs<S> inputs(state.range(0), state.range(1), state.range(2), state.range(3));
  const ThreadPool pool(static_cast<int>(state.range(4)));
  inputs.forward(pool, options);
  for (auto _ : state) {
    if (backward)
      inputs.backward(pool, options);
    else
      inputs.forward(pool, options);
  }
  static const double peak = sizeof(T) == sizeof(float) ? peak_float() : peak_double();
  const double product =
      static_cast<double>(inputs.length * inputs.heads) * static_cast<double>(inputs.slots * inputs.width);
  const double flops = (options.causal ? 6.0 : 4.0) * (backward ? 2.0 : 1.0) * product;
  state.SetLabel(simd::active_target());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_peak"] = benchmark::Counter(flops / (peak * static_cast<double>(state.range(4))),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak_GFLOP/s"] = peak * 1e-9;
}

template <class S>
kernels::MemoryForward<S> full() {
  kernels::MemoryForward<S> options;
  options.causal = false;
  return options;
}
template <class S>
kernels::MemoryForward<S> accumulated(kernels::Accumulator accumulator) {
  kernels::MemoryForward<S> options;
  options.accumulator = accumulator;
  return options;
}
template <class S>
kernels::MemoryForward<S> windowed() {
  kernels::MemoryForward<S> options;
  options.window = 64;
  return options;
}
template <class S>
kernels::MemoryForward<S> dropping() {
  kernels::MemoryForward<S> options;
  options.dropout = {0.1, 1};
  return options;
}

void forward_float32(benchmark::State& state) { run<float>(state, false, {}); }
void backward_float32(benchmark::State& state) { run<float>(state, true, {}); }
void full_forward_float32(benchmark::State& state) { run<float>(state, false, full<float>()); }
void full_backward_float32(benchmark::State& state) { run<float>(state, true, full<float>()); }
void window_forward_float32(benchmark::State& state) { run<float>(state, false, windowed<float>()); }
void window_backward_float32(benchmark::State& state) { run<float>(state, true, windowed<float>()); }
void dropout_forward_float32(benchmark::State& state) { run<float>(state, false, dropping<float>()); }
void dropout_backward_float32(benchmark::State& state) { run<float>(state, true, dropping<float>()); }
void forward_in_float32_sums(benchmark::State& state) {
  run<float>(state, false, accumulated<float>(kernels::Accumulator::float32));
}
void forward_in_compensated_sums(benchmark::State& state) {
  run<float>(state, false, accumulated<float>(kernels::Accumulator::float32_compensated));
}
void forward_bfloat16(benchmark::State& state) { run<BFloat16>(state, false, {}); }
void backward_bfloat16(benchmark::State& state) { run<BFloat16>(state, true, {}); }
void forward_float64(benchmark::State& state) { run<double>(state, false, {}); }
void backward_float64(benchmark::State& state) { run<double>(state, true, {}); }

// One token of a stream at a time.
void step_float32(benchmark::State& state) {
  Inputs<float> inputs(1, state.range(0), state.range(1), state.range(2));
  const SerialParallel serial;
  for (auto _ : state) inputs.step(serial);
  state.SetLabel(simd::active_target());
}

void one_thread(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "r", "threads"});
  bench->Args({4096, 8, 64, 64, 1})
      ->Args({4096, 4, 32, 32, 1})
      ->Args({4096, 8, 64, 16, 1})
      ->Args({2048, 2, 128, 128, 1});
  // Other widths, and fewer slots than columns.
  for (const int64_t d : {32, 80, 96, 128})
    for (const int64_t r : {16, 32, 64})
      if (r <= d) bench->Args({4096, 8, d, r, 1});
  bench->Args({4096, 8, 80, 80, 1})
      ->Args({4096, 8, 96, 96, 1})
      ->Args({4096, 8, 64, 32, 1})
      ->Args({4096, 4, 256, 64, 1});
  // The same where operands and results stay in the cache, so that memory does not set the rate.
  bench->Args({1024, 1, 64, 64, 1});
  for (const int64_t d : {32, 64, 80, 96, 128}) bench->Args({1024, 1, d, 16, 1});
  bench->Args({1 << 14, 1, 64, 64, 1})->Args({1 << 17, 1, 64, 64, 1})->Args({1 << 20, 1, 64, 64, 1});  // growth
}
void two_threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "r", "threads"})->UseRealTime();
  bench->Args({4096, 8, 64, 64, 2})->Args({32768, 1, 64, 64, 2});  // over heads; along the length
}

BENCHMARK(forward_float32)->Apply(one_thread);
BENCHMARK(forward_float32)->Apply(two_threads);
BENCHMARK(backward_float32)->Apply(one_thread);
BENCHMARK(backward_float32)->Apply(two_threads);
BENCHMARK(full_forward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(full_backward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(window_forward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(window_backward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(dropout_forward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(dropout_backward_float32)->Args({4096, 8, 64, 64, 1});
BENCHMARK(forward_in_float32_sums)->Args({4096, 8, 64, 64, 1});
BENCHMARK(forward_in_compensated_sums)->Args({4096, 8, 64, 64, 1});
BENCHMARK(forward_bfloat16)->Args({4096, 8, 64, 64, 1});
BENCHMARK(backward_bfloat16)->Args({4096, 8, 64, 64, 1});
BENCHMARK(forward_float64)->Args({4096, 8, 64, 64, 1});
BENCHMARK(backward_float64)->Args({4096, 8, 64, 64, 1});
BENCHMARK(step_float32)->ArgNames({"heads", "d", "r"})->Args({8, 64, 64})->Args({4, 32, 32});

}  // namespace
}  // namespace longspan::benchmarks
