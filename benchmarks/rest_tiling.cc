// What tiling would bring the rest of a pattern: sums and dot products over random keys, the lists worked whole as the
// kernel does, by blocks of keys that fit the second-level cache, and (sums) by slices of 16 columns that do. Rate in
// gathered bytes; every thread has a panel and lists of its own, as two heads have.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/base/pattern_view.h"
#include "longspan/kernels/diffusion/panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/rest_tiling.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/kernels/diffusion/rest-inl.h"

#ifndef LONGSPAN_BENCHMARKS_REST_TILING_ONCE
#define LONGSPAN_BENCHMARKS_REST_TILING_ONCE
namespace longspan::benchmarks {

inline constexpr int64_t kKeys = 128, kColumns = 64, kSlice = 16;

/// One head: n rows of 64 columns, 128 random keys each.
struct Head {
  int64_t n;
  std::vector<int32_t> keys;
  std::vector<float> weights, dots;
  kernels::diffusion::Panel<float> x, out, slices;
  std::vector<int64_t> cuts;  ///< [row][block]: where the row's keys of a block of keys begin
  int64_t blocks = 0;

  Head(int64_t rows, int64_t block, uint64_t seed) : n(rows), weights(static_cast<std::size_t>(rows * kKeys), 0.01f) {
    std::mt19937_64 random(seed);
    for (auto* panel : {&x, &out, &slices}) {
      panel->reshape(n, kColumns);
      std::fill_n(panel->row(0), n * kColumns, 0.5f);
    }
    dots = weights;
    blocks = block > 0 ? (n + block - 1) / block : 0;
    std::vector<int32_t> own(kKeys);
    for (int64_t i = 0; i < n; ++i) {
      for (int32_t& key : own) key = static_cast<int32_t>(random() % static_cast<uint64_t>(n));
      std::sort(own.begin(), own.end());
      for (int64_t b = 0; b < blocks; ++b)
        cuts.push_back(i * kKeys +
                       (std::lower_bound(own.begin(), own.end(), static_cast<int32_t>(b * block)) - own.begin()));
      keys.insert(keys.end(), own.begin(), own.end());
    }
    cuts.push_back(n * kKeys);
  }
  int64_t begin(int64_t i, int64_t b) const { return cuts[static_cast<std::size_t>(i * blocks + b)]; }
  /// The next block's begin, or the next row's.
  int64_t end(int64_t i, int64_t b) const { return cuts[static_cast<std::size_t>(i * blocks + b + 1)]; }
};

}  // namespace longspan::benchmarks
#endif

HWY_BEFORE_NAMESPACE();
namespace longspan::benchmarks::HWY_NAMESPACE {
namespace rest = kernels::diffusion::HWY_NAMESPACE;
namespace panel = simd::HWY_NAMESPACE;
namespace hn = hwy::HWY_NAMESPACE;

void sum_lists(Head& h) {
  panel::zero_rows(kColumns, h.n, h.out.row(0), h.out.stride(), 0);
  for (int64_t i = 0; i < h.n; ++i)
    rest::gather_row(h.keys.data(), h.weights.data(), i * kKeys, (i + 1) * kKeys, h.x, h.out, i);
}

void sum_blocks(Head& h) {
  panel::zero_rows(kColumns, h.n, h.out.row(0), h.out.stride(), 0);
  for (int64_t b = 0; b < h.blocks; ++b)
    for (int64_t i = 0; i < h.n; ++i)
      rest::gather_row(h.keys.data(), h.weights.data(), h.begin(i, b), h.end(i, b), h.x, h.out, i);
}

/// Copies the panel into slices [4][n][16] first, as every hop would have to.
void sum_slices(Head& h) {
  const hn::CappedTag<float, kSlice> d;
  constexpr int64_t N = hn::MaxLanes(d);
  for (int64_t slice = 0; slice < kColumns / kSlice; ++slice) {
    float* const from = h.slices.row(0) + slice * h.n * kSlice;
    for (int64_t i = 0; i < h.n; ++i)
      for (int64_t c = 0; c < kSlice; c += N)
        hn::Store(hn::Load(d, h.x.row(i) + slice * kSlice + c), d, from + i * kSlice + c);
    for (int64_t i = 0; i < h.n; ++i) {
      const int32_t* const keys = h.keys.data() + i * kKeys;
      const float* const weights = h.weights.data() + i * kKeys;
      for (int64_t c = 0; c < kSlice; c += N) {
        auto even = hn::Zero(d), odd = hn::Zero(d);
        for (int64_t e = 0; e < kKeys; e += 2) {
          even = hn::MulAdd(hn::Set(d, weights[e]), hn::Load(d, from + int64_t{keys[e]} * kSlice + c), even);
          odd = hn::MulAdd(hn::Set(d, weights[e + 1]), hn::Load(d, from + int64_t{keys[e + 1]} * kSlice + c), odd);
        }
        hn::Store(hn::Add(even, odd), d, h.out.row(i) + slice * kSlice + c);
      }
    }
  }
}

void dot_lists(Head& h) {
  for (int64_t i = 0; i < h.n; ++i)
    rest::dot_row(h.keys.data(), i * kKeys, (i + 1) * kKeys, h.out, i, h.x,
                  [&](int64_t e, float dot) { h.dots[static_cast<std::size_t>(e)] = dot; });
}

void dot_blocks(Head& h) {
  for (int64_t b = 0; b < h.blocks; ++b)
    for (int64_t i = 0; i < h.n; ++i)
      rest::dot_row(h.keys.data(), h.begin(i, b), h.end(i, b), h.out, i, h.x,
                    [&](int64_t e, float dot) { h.dots[static_cast<std::size_t>(e)] = dot; });
}

}  // namespace longspan::benchmarks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longspan::benchmarks {
namespace {

HWY_EXPORT(sum_lists);
HWY_EXPORT(sum_blocks);
HWY_EXPORT(sum_slices);
HWY_EXPORT(dot_lists);
HWY_EXPORT(dot_blocks);

// Arguments: length, keys in a block (0: none), threads.
template <class F>
void run(benchmark::State& state, const F& work) {
  const int64_t n = state.range(0), threads = state.range(2);
  std::vector<std::unique_ptr<Head>> heads;
  for (int64_t t = 0; t < threads; ++t)
    heads.push_back(std::make_unique<Head>(n, state.range(1), static_cast<uint64_t>(t)));
  const ThreadPool pool(static_cast<int>(threads));
  for (auto _ : state) pool.run(threads, [&](int64_t t, int) { work(*heads[static_cast<std::size_t>(t)]); });
  state.SetBytesProcessed(state.iterations() * threads * n * kKeys * kColumns * int64_t{sizeof(float)});
}

void sums_whole(benchmark::State& state) {
  run(state, [](Head& head) { HWY_DYNAMIC_DISPATCH(sum_lists)(head); });
}
void sums_by_blocks(benchmark::State& state) {
  run(state, [](Head& head) { HWY_DYNAMIC_DISPATCH(sum_blocks)(head); });
}
void sums_by_slices(benchmark::State& state) {
  run(state, [](Head& head) { HWY_DYNAMIC_DISPATCH(sum_slices)(head); });
}
void dots_whole(benchmark::State& state) {
  run(state, [](Head& head) { HWY_DYNAMIC_DISPATCH(dot_lists)(head); });
}
void dots_by_blocks(benchmark::State& state) {
  run(state, [](Head& head) { HWY_DYNAMIC_DISPATCH(dot_blocks)(head); });
}

void lengths(benchmark::internal::Benchmark* bench, const std::vector<int64_t>& blocks) {
  bench->ArgNames({"n", "block", "threads"})->UseRealTime();
  for (const int64_t n : {4096, 16384, 65536})
    for (const int64_t block : blocks)
      for (const int64_t threads : {1, 2}) bench->Args({n, block, threads});
}
void whole(benchmark::internal::Benchmark* bench) { lengths(bench, {0}); }
void by_blocks(benchmark::internal::Benchmark* bench) { lengths(bench, {2048, 8192}); }  // 512 KiB, 2 MiB

BENCHMARK(sums_whole)->Apply(whole);
BENCHMARK(sums_by_blocks)->Apply(by_blocks);
BENCHMARK(sums_by_slices)->Apply(whole);
BENCHMARK(dots_whole)->Apply(whole);
BENCHMARK(dots_by_blocks)->Apply(by_blocks);

}  // namespace
}  // namespace longspan::benchmarks
#endif  // HWY_ONCE
