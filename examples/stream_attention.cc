// Reads a stream of any length through LAVO attention with a state of constant size.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include <cstdio>
#include <exception>

#include "longspan/nn/registry.h"

int main() {
  try {
    namespace nn = longspan::nn;
    // 4 heads of width 32; 16 memory slots and a window of 64 tokens per head.
    const nn::AttentionPtr lavo = nn::make_attention("lavo", nn::Pattern::causal_self, {.width = 128, .heads = 4},
                                                     {{"r", int64_t{16}}, {"w", int64_t{64}}});
    lavo->eval();
    at::NoGradGuard no_grad;

    nn::State state = lavo->begin(1);
    const int64_t piece = 1000;  // extend() takes any number of new tokens, one included
    int64_t first_bytes = 0;
    for (int64_t read = 0; read < 50 * piece;) {
      const at::Tensor tokens = at::randn({1, piece, 128});  // [B, N, E]; a model would embed its input here
      const at::Tensor out = lavo->extend(state, tokens);
      read += out.size(1);
      if (first_bytes == 0) first_bytes = state.bytes();
      if (read % (10 * piece) == 0)
        std::printf("after %6lld tokens: state of %lld bytes\n", static_cast<long long>(read),
                    static_cast<long long>(state.bytes()));
    }
    return state.bytes() == first_bytes ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stream_attention: %s\n", error.what());
    return 1;
  }
}
