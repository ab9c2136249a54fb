// Reads a stream of any length through LAVO attention with a state of constant size.
//
//     stream_attention [TOKENS]    (default: 50000)
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "longspan/nn/registry.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Resident memory of this process in MiB, 0 where the system does not say.
double resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == "VmRSS:" && status >> kilobytes) return kilobytes / 1024;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    namespace nn = longspan::nn;
    const int64_t total = argc > 1 ? std::atoll(argv[1]) : 50000;
    // 4 heads of width 32; 16 memory slots and a window of 64 tokens per head.
    const nn::AttentionPtr lavo = nn::make_attention("lavo", nn::Pattern::causal_self, {.width = 128, .heads = 4},
                                                     {{"r", int64_t{16}}, {"w", int64_t{64}}});
    lavo->eval();
    at::NoGradGuard no_grad;

    nn::State state = lavo->begin(1);
    const int64_t piece = 1000;                            // extend() takes any number of new tokens, one included
    const at::Tensor tokens = at::randn({1, piece, 128});  // [B, N, E]; a model would embed its input here
    const int64_t report = std::max<int64_t>(total / piece / 5, 1) * piece;
    int64_t first_bytes = 0, shown = 0;
    double seconds = 0;  // since the last line
    for (int64_t read = 0; read < total;) {
      const double start = now();
      read += lavo->extend(state, tokens).size(1);
      seconds += now() - start;
      if (first_bytes == 0) first_bytes = state.bytes();
      if (read % report != 0 && read != piece) continue;
      std::printf("after %9lld tokens: state of %lld bytes, %.2f us per token, %.1f MiB resident\n",
                  static_cast<long long>(read), static_cast<long long>(state.bytes()),
                  seconds * 1e6 / static_cast<double>(read - shown), resident());
      shown = read;
      seconds = 0;
    }
    return state.bytes() == first_bytes ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stream_attention: %s\n", error.what());
    return 1;
  }
}
