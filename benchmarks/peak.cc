#include "benchmarks/peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/peak.cc"
#include <benchmark/benchmark.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <chrono>

HWY_BEFORE_NAMESPACE();
namespace longspan::benchmarks::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
double peak() {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kChains = 10;  // latency 4, two a cycle, and 16 registers hold them with both operands
  constexpr int64_t kSteps = 1 << 20;
  double best = 0;
  for (int trial = 0; trial < 10; ++trial) {
    V sums[kChains];
    T factor = T(0.999), addend = T(0.001);
    benchmark::DoNotOptimize(factor);
    benchmark::DoNotOptimize(addend);
    const V x = hn::Set(d, factor), y = hn::Set(d, addend);
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<T>(i));
    const auto start = std::chrono::steady_clock::now();
    for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 10
      for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], x, y);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    V total = sums[0];
#pragma GCC unroll 10
    for (int i = 1; i < kChains; ++i) total = hn::Add(total, sums[i]);
    auto result = hn::GetLane(total);
    benchmark::DoNotOptimize(result);
    best = std::max(best, 2.0 * kChains * static_cast<double>(hn::Lanes(d) * kSteps) / seconds);
  }
  return best;
}

double peak_float_target() { return peak<float>(); }
double peak_double_target() { return peak<double>(); }

}  // namespace longspan::benchmarks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "longspan/simd/target.h"

namespace longspan::benchmarks {
namespace {
HWY_EXPORT(peak_float_target);
HWY_EXPORT(peak_double_target);
}  // namespace

double peak_float() {
  simd::ensure_target();
  return HWY_DYNAMIC_DISPATCH(peak_float_target)();
}
double peak_double() {
  simd::ensure_target();
  return HWY_DYNAMIC_DISPATCH(peak_double_target)();
}

}  // namespace longspan::benchmarks
#endif  // HWY_ONCE
