// A user's program on the modules: a stream read in two pieces gives what one forward pass gives.
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>

#include <cstdio>
#include <exception>

#include "longspan/nn/registry.h"

int main() {
  try {
    namespace nn = longspan::nn;
    const auto attention = nn::make_attention("lavo", nn::Pattern::causal_self, {.width = 32, .heads = 2},
                                              {{"r", int64_t{8}}, {"w", int64_t{4}}});
    const at::Tensor x = at::randn({1, 20, 32});
    nn::State state = attention->begin(1);
    const at::Tensor pieces =
        at::cat({attention->extend(state, x.narrow(1, 0, 7)), attention->extend(state, x.narrow(1, 7, 13))}, 1);
    // The projections are sums of 32 float products; the shapes of the pieces may order them differently.
    if (!at::allclose(pieces, attention->forward(x), 0, 1e-5)) {
      std::printf("consumer: extend and forward differ\n");
      return 1;
    }
    std::printf("consumer: ok, state of %lld bytes\n", static_cast<long long>(state.bytes()));
    return 0;
  } catch (const std::exception& error) {
    std::printf("consumer: %s\n", error.what());
    return 1;
  }
}
