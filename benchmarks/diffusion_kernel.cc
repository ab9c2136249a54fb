// Rate of the diffusion kernels in useful flops: for each pair of the pattern 2 d for its score and 2 d for each hop
// forward; backward 2 d for its score again, 2 d for each hop but one to form the states, and 4 d for each hop and the
// gradients of scores.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/peak.h"
#include "longspan/base/aligned.h"
#include "longspan/base/parallel.h"
#include "longspan/kernels/diffusion/diffusion.h"
#include "longspan/patterns/build.h"
#include "longspan/simd/target.h"

namespace longspan::benchmarks {
namespace {

// Pairs of one's own: every point of a square mesh sees the 5 x 5 around it (`mesh`), or a point of a line the 16
// before and after it (`line`). `shuffled`: the points' numbers say nothing about where they lie. `as_numbered`:
// with rows in the order of these, as if the pattern had found no better one.
patterns::Pattern graph(bool mesh, bool shuffled, int64_t n) {
  std::vector<int64_t> number(static_cast<std::size_t>(n)), queries, keys;
  std::iota(number.begin(), number.end(), 0);
  std::mt19937 random(2);
  if (shuffled) std::shuffle(number.begin(), number.end(), random);
  const auto add = [&](int64_t i, int64_t j) {
    queries.push_back(number[static_cast<std::size_t>(i)]);
    keys.push_back(number[static_cast<std::size_t>(j)]);
  };
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(n))));
  for (int64_t i = 0; i < n; ++i) {
    if (!mesh)
      for (int64_t j = std::max<int64_t>(i - 16, 0); j <= std::min(i + 16, n - 1); ++j) add(i, j);
    if (mesh)
      for (int64_t y = std::max<int64_t>(i / side - 2, 0); y <= std::min(i / side + 2, side - 1); ++y)
        for (int64_t x = std::max<int64_t>(i % side - 2, 0); x <= std::min(i % side + 2, side - 1); ++x)
          add(i, y * side + x);
  }
  const patterns::EdgeList edges = patterns::edges_from_pairs(queries, keys, "graph", n);
  return patterns::build_pattern(patterns::pattern_options("edges"), n, {.edges = &edges});
}

patterns::Pattern make(const std::string& name, int64_t n) {
  if (name.starts_with("mesh") || name.starts_with("line"))
    return graph(name.starts_with("mesh"), name.find("shuffled") != std::string::npos, n);
  if (name == "longformer")  // one hop against one window
    return patterns::build_pattern(patterns::pattern_options("longformer", {{"w", 512}, {"g", 1}}), n);
  return patterns::build_pattern(patterns::pattern_options(name), n);
}

struct Inputs {
  int64_t length, heads, width, hops;
  patterns::Pattern pattern;
  kernels::DiffusionPattern view;
  std::optional<kernels::DiffusionLayout> layout;
  std::vector<float> q, k, v, dout, out, dq, dk, dv, lse, coefficients, dcoefficients;
  AlignedBuffer<float> weights;
  bool keep_weights = true;

  Inputs(const std::string& name, int64_t n, int64_t h, int64_t d, int64_t K)
      : length(n), heads(h), width(d), hops(K), pattern(make(name, n)) {
    view = {pattern.view(), pattern.transposed()};
    if (name.ends_with("as_numbered")) view.pattern.order = nullptr;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (auto* tensor : {&q, &k, &v, &dout}) {
      tensor->resize(static_cast<std::size_t>(n * h * d));
      for (float& value : *tensor) value = normal(random);
    }
    out = dq = dk = dv = q;
    lse.resize(static_cast<std::size_t>(n * h));
    coefficients = {1};
    for (int64_t hop = 0; hop < hops; ++hop) coefficients.insert(coefficients.end(), {0.9f, 0.1f});
    dcoefficients = coefficients;
    weights = AlignedBuffer<float>(heads * kernels::diffusion_weight_count(view.pattern));
    layout.emplace(view.pattern, view.transposed);  // as the operator keeps it with the pattern
    view.layout = &*layout;
  }
  // [row, head, width], as a module's projections lie.
  RowsView<float> view_of(std::vector<float>& tensor) { return {tensor.data(), 0, width, heads * width}; }
  RowsView<const float> const_view(const std::vector<float>& tensor) const {
    return {tensor.data(), 0, width, heads * width};
  }
  void set(kernels::DiffusionParams<float>& p) const {
    p.sequences = 1;
    p.heads = heads;
    p.width = p.value_width = width;
    p.hops = hops;
    p.rows.rows = length;
    p.patterns = &view;
    p.scale = 1 / std::sqrt(static_cast<double>(width));
    p.coefficients = coefficients.data();
    p.q = const_view(q);
    p.k = const_view(k);
    p.v = const_view(v);
  }
  void forward(const Parallel& parallel) {
    kernels::DiffusionForward<float> p;
    set(p);
    p.out = view_of(out);
    p.lse = {lse.data(), 0, length, 1};
    p.weights = keep_weights ? weights.data() : nullptr;
    kernels::diffusion_forward(p, parallel);
  }
  void backward(const Parallel& parallel) {
    kernels::DiffusionBackward<float> p;
    set(p);
    p.weights = keep_weights ? weights.data() : nullptr;
    p.dout = const_view(dout);
    p.dq = view_of(dq);
    p.dk = view_of(dk);
    p.dv = view_of(dv);
    p.dcoefficients = dcoefficients.data();
    kernels::diffusion_backward(p, parallel);
  }
};

// Arguments: length, heads, width, hops, threads. One thread is timed by processor time, so that other programs on the
// machine do not count; several by the clock.
void run(benchmark::State& state, const std::string& name, bool forward, bool backward) {
  Inputs inputs(name, state.range(0), state.range(1), state.range(2), state.range(3));
  const ThreadPool pool(static_cast<int>(state.range(4)));
  inputs.forward(pool);
  for (auto _ : state) {
    if (forward) inputs.forward(pool);
    if (backward) inputs.backward(pool);
  }
  static const double peak = peak_float();
  const double hops = static_cast<double>(inputs.hops);
  const double pair = 2 * static_cast<double>(inputs.heads * inputs.width * inputs.pattern.pairs());
  const double flops =
      pair * ((forward ? 1 + hops : 0) + (backward ? hops - 1 + 2 * hops + 2 + (inputs.keep_weights ? 0 : 1) : 0));
  // Full softmax attention of the same size: 4 n^2 d forward, 2.5 times that backward.
  const double full = 4 * static_cast<double>(inputs.heads * inputs.width) *
                      static_cast<double>(inputs.length * inputs.length) * ((forward ? 1 : 0) + (backward ? 2.5 : 0));
  const auto rate = [](double x) { return benchmark::Counter(x, benchmark::Counter::kIsIterationInvariantRate); };
  state.SetLabel(simd::active_target());
  state.counters["GFLOP/s"] = rate(flops * 1e-9);
  state.counters["of_peak"] = rate(flops / (peak * static_cast<double>(state.range(4))));
  // How many times as fast as full attention would be at the peak rate.
  state.counters["full_at_peak"] = rate(full / (peak * static_cast<double>(state.range(4))));
  state.counters["density"] = inputs.pattern.density();
  state.counters["peak_GFLOP/s"] = peak * 1e-9;
}

void table_s1_forward(benchmark::State& state) { run(state, "table_s1", true, false); }
void table_s1_backward(benchmark::State& state) { run(state, "table_s1", false, true); }
void table_s1_both(benchmark::State& state) { run(state, "table_s1", true, true); }
void longformer_both(benchmark::State& state) { run(state, "longformer", true, true); }
void window_both(benchmark::State& state) { run(state, "window_overlap", true, true); }
void global_both(benchmark::State& state) { run(state, "global", true, true); }
void random_both(benchmark::State& state) { run(state, "random", true, true); }

void mesh_both(benchmark::State& state) { run(state, "mesh", true, true); }
void mesh_shuffled_both(benchmark::State& state) { run(state, "mesh_shuffled", true, true); }
void mesh_shuffled_as_numbered_both(benchmark::State& state) { run(state, "mesh_shuffled_as_numbered", true, true); }
void line_both(benchmark::State& state) { run(state, "line", true, true); }
void line_shuffled_both(benchmark::State& state) { run(state, "line_shuffled", true, true); }
void line_shuffled_as_numbered_both(benchmark::State& state) { run(state, "line_shuffled_as_numbered", true, true); }

void one_thread(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "hops", "threads"});
  for (const int64_t n : {4096, 8192, 16384}) bench->Args({n, 1, 64, 5, 1});
}
void two_threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "hops", "threads"})->UseRealTime();
  for (const int64_t n : {4096, 8192, 16384}) bench->Args({n, 8, 64, 5, 2});
}
void edges(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "hops", "threads"})->UseRealTime();
  for (const int64_t n : {16384, 65536})
    for (const int64_t threads : {1, 2}) bench->Args({n, 8, 64, 5, threads});
}
void one_hop(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "heads", "d", "hops", "threads"});
  for (const int64_t n : {4096, 16384}) bench->Args({n, 1, 64, 1, 1});
}

BENCHMARK(table_s1_forward)->Apply(one_thread);
BENCHMARK(table_s1_backward)->Apply(one_thread);
BENCHMARK(table_s1_both)->Apply(two_threads);
BENCHMARK(window_both)->Apply(one_thread);
BENCHMARK(global_both)->Apply(one_thread);
BENCHMARK(random_both)->Apply(one_thread);
BENCHMARK(longformer_both)->Apply(one_hop);
BENCHMARK(mesh_both)->Apply(edges);
BENCHMARK(mesh_shuffled_both)->Apply(edges);
BENCHMARK(mesh_shuffled_as_numbered_both)->Apply(edges);
BENCHMARK(line_both)->Apply(edges);
BENCHMARK(line_shuffled_both)->Apply(edges);
BENCHMARK(line_shuffled_as_numbered_both)->Apply(edges);

}  // namespace
}  // namespace longspan::benchmarks
