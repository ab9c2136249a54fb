// A causal Diffuser with random keys that reads a stream token by token: microseconds of a token after so many others.
//
//     bench_diffuser_stream [tokens ...]     (default: 1024 4096 16384), 8 heads of 64, K = 5, the default pattern
#include <ATen/ATen.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "longspan/nn/registry.h"

int main(int argc, char** argv) {
  using namespace longspan::nn;
  using Clock = std::chrono::steady_clock;
  constexpr int kTokens = 64;
  std::vector<int64_t> lengths;
  for (int i = 1; i < argc; ++i) lengths.push_back(std::atoll(argv[i]));
  if (lengths.empty()) lengths = {1024, 4096, 16384};
  const torch::NoGradGuard no_grad;
  const auto attention = make_attention("diffuser", Pattern::causal_self, {.width = 512, .heads = 8}, {});
  attention->eval();
  for (const int64_t length : lengths) {
    const at::Tensor x = at::randn({1, length + kTokens, 512});
    State state = attention->begin(1);
    attention->extend(state, x.narrow(1, 0, length));
    std::vector<double> times;
    for (int64_t t = length; t < length + kTokens; ++t) {
      const auto begin = Clock::now();
      attention->extend(state, x.narrow(1, t, 1));
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    std::printf("after %6lld tokens: %8.0f us a token (median), %8.0f (mean)\n", static_cast<long long>(length),
                times[times.size() / 2], [&] {
                  double sum = 0;
                  for (const double time : times) sum += time / kTokens;
                  return sum;
                }());
  }
}
