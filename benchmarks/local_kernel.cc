// Rate of the local attention kernels in useful flops: for each pair of a query and a key that it sees 4 d forward and
// 10 d backward (scores, dp, dq, dk, dv: the recomputed scores count, masked and padded products do not).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "benchmarks/peak.h"
#include "longspan/base/parallel.h"
#include "longspan/kernels/local/local.h"
#include "longspan/simd/target.h"

namespace longspan::benchmarks {
namespace {

template <class S>
struct Inputs {
  using T = Computed<S>;
  int64_t length, heads, width, window;
  int64_t queries;  ///< the last ones; fewer than `length` for a step of a stream
  double dropout = 0;
  std::vector<S> q, k, v, dout, out, dq, dk, dv;
  std::vector<T> lse, table, dtable;

  Inputs(int64_t n, int64_t h, int64_t d, int64_t w) : length(n), heads(h), width(d), window(w), queries(n) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (auto* tensor : {&q, &k, &v, &dout}) {
      tensor->resize(static_cast<std::size_t>(n * h * d));
      for (S& value : *tensor) value = static_cast<S>(static_cast<T>(normal(random)));
    }
    table.resize(static_cast<std::size_t>(h * (2 * w - 1)));
    for (T& value : table) value = static_cast<T>(normal(random));
    out = dq = dk = dv = q;
    lse.resize(static_cast<std::size_t>(n * h));
    dtable = table;
  }
  // [row, head, width], as a module's projections lie.
  RowsView<S> view(std::vector<S>& tensor) { return {tensor.data(), 0, width, heads * width}; }
  RowsView<const S> const_view(const std::vector<S>& tensor) { return {tensor.data(), 0, width, heads * width}; }
  void set(kernels::LocalParams<S>& p) {
    p.sequences = 1;
    p.heads = heads;
    p.width = p.value_width = width;
    p.queries.rows = queries;
    p.keys.rows = length;
    p.reach_left = window - 1;
    p.scale = 1 / std::sqrt(static_cast<double>(width));
    p.dropout = {dropout, 1};
    p.q = const_view(q);
    p.k = const_view(k);
    p.v = const_view(v);
    p.table = table.data();
    p.table_centre = window - 1;
    p.table_head_stride = 2 * window - 1;
  }
  void forward(const Parallel& parallel) {
    kernels::LocalForward<S> p;
    set(p);
    p.out = view(out);
    p.lse = {lse.data(), 0, length, 1};
    kernels::local_forward(p, parallel);
  }
  void backward(const Parallel& parallel) {
    kernels::LocalBackward<S> p;
    set(p);
    p.out = const_view(out);
    p.lse = {lse.data(), 0, length, 1};
    p.dout = const_view(dout);
    p.dq = view(dq);
    p.dk = view(dk);
    p.dv = view(dv);
    p.dtable = dtable.data();
    p.table_heads = heads;
    p.table_size = 2 * window - 1;
    kernels::local_backward(p, parallel);
  }
};

// Arguments: length, heads, width, window, threads. One thread is timed by processor time, so that other programs on
// the machine do not count; several by the clock.
template <class S>
void run(benchmark::State& state, bool backward, double dropout = 0) {
  Inputs<S> inputs(state.range(0), state.range(1), state.range(2), state.range(3));
  inputs.dropout = dropout;
  const ThreadPool pool(static_cast<int>(state.range(4)));
  inputs.forward(pool);
  for (auto _ : state) {
    if (backward)
      inputs.backward(pool);
    else
      inputs.forward(pool);
  }
  static const double peak = sizeof(Computed<S>) == sizeof(float) ? peak_float() : peak_double();
  double pairs = 0;
  for (int64_t i = 0; i < inputs.length; ++i) pairs += static_cast<double>(std::min(i + 1, inputs.window));
  pairs *= static_cast<double>(inputs.heads * inputs.width);
  const double flops = (backward ? 10.0 : 4.0) * pairs;
  state.SetLabel(simd::active_target());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_peak"] = benchmark::Counter(flops / (peak * static_cast<double>(state.range(4))),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak_GFLOP/s"] = peak * 1e-9;
}

// One new query of a stream, with its window of keys: argument 0 heads, 1 width, 2 window.
void step_float32(benchmark::State& state) {
  Inputs<float> inputs(state.range(2), state.range(0), state.range(1), state.range(2));
  inputs.queries = 1;
  for (auto _ : state) inputs.forward(SerialParallel());
  state.SetLabel(simd::active_target());
}

void forward_float32(benchmark::State& state) { run<float>(state, false); }
void backward_float32(benchmark::State& state) { run<float>(state, true); }
void forward_float64(benchmark::State& state) { run<double>(state, false); }
void backward_float64(benchmark::State& state) { run<double>(state, true); }
void forward_bfloat16(benchmark::State& state) { run<BFloat16>(state, false); }
void backward_bfloat16(benchmark::State& state) { run<BFloat16>(state, true); }
void forward_dropout(benchmark::State& state) { run<float>(state, false, 0.1); }
void backward_dropout(benchmark::State& state) { run<float>(state, true, 0.1); }

void one_thread(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "w", "threads"});
  bench->Args({4096, 8, 64, 64, 1})->Args({4096, 8, 64, 16, 1})->Args({4096, 8, 32, 32, 1});
  bench->Args({4096, 2, 128, 256, 1})->Args({64, 8, 64, 64, 1});
}
// Head widths and windows away from the tuned ones.
void other_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "w", "threads"});
  for (const int64_t d : {32, 64, 80, 96, 128})
    for (const int64_t w : {16, 64, 100, 256}) bench->Args({2048, 4, d, w, 1})->Args({2048, 1, d, w, 1});
}
void one_shape(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "w", "threads"})->Args({4096, 8, 64, 64, 1});
}
void two_threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "w", "threads"})->Args({4096, 8, 64, 64, 2})->UseRealTime();
}

BENCHMARK(forward_float32)->Apply(one_thread);
BENCHMARK(forward_float32)->Apply(two_threads);
BENCHMARK(backward_float32)->Apply(one_thread);
BENCHMARK(backward_float32)->Apply(two_threads);
BENCHMARK(step_float32)->ArgNames({"heads", "d", "w"})->Args({8, 64, 64});
BENCHMARK(forward_float32)->Name("forward_other_shapes")->Apply(other_shapes);
BENCHMARK(backward_float32)->Name("backward_other_shapes")->Apply(other_shapes);
BENCHMARK(forward_float64)->Apply(one_shape);
BENCHMARK(backward_float64)->Apply(one_shape);
BENCHMARK(forward_bfloat16)->Apply(one_shape);
BENCHMARK(backward_bfloat16)->Apply(one_shape);
BENCHMARK(forward_dropout)->Apply(one_shape);
BENCHMARK(backward_dropout)->Apply(one_shape);

}  // namespace
}  // namespace longspan::benchmarks
