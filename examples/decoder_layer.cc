// One layer of a decoder, causal self attention and cross attention to an encoded source, read token by token: what an
// autoregressive model does when it generates. The result is that of the parallel pass.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>

#include <cstdio>
#include <exception>
#include <vector>

#include "longspan/nn/registry.h"

namespace {

namespace nn = longspan::nn;

struct DecoderLayer {
  nn::AttentionPtr self, cross;
  struct State {
    nn::State self, cross;
  };

  DecoderLayer() {
    const nn::AttentionSizes sizes = {.width = 64, .heads = 4};
    self = nn::make_attention("lavo", nn::Pattern::causal_self, sizes, {{"r", int64_t{16}}, {"w", int64_t{16}}});
    cross = nn::make_attention("lavo", nn::Pattern::causal_cross, sizes, {{"r", int64_t{16}}});
    self->eval();
    cross->eval();
  }

  at::Tensor forward(const at::Tensor& x, const at::Tensor& source) const {
    const at::Tensor h = x + self->forward(x);
    return h + cross->forward(h, {.source = source});
  }

  /// Of the source the state keeps its memory, [B, H, R] numbers, however long it is.
  State begin(const at::Tensor& source) const { return {self->begin(source.size(0)), cross->begin(source)}; }

  at::Tensor extend(State& state, const at::Tensor& x) const {
    const at::Tensor h = x + self->extend(state.self, x);
    return h + cross->extend(state.cross, h);
  }
};

}  // namespace

int main() {
  try {
    at::NoGradGuard no_grad;
    const DecoderLayer layer;
    const at::Tensor source = at::randn({2, 500, 64}), x = at::randn({2, 40, 64});  // [B, M, E], [B, N, E]
    DecoderLayer::State state = layer.begin(source);
    std::vector<at::Tensor> steps;
    for (int64_t t = 0; t < x.size(1); ++t) steps.push_back(layer.extend(state, x.narrow(1, t, 1)));
    const at::Tensor whole = layer.forward(x, source);
    const bool same = at::allclose(at::cat(steps, 1), whole, 1e-4, 1e-5);
    std::printf("40 tokens, one at a time: %s the parallel pass; the source of %lld tokens is kept in %lld bytes\n",
                same ? "equal to" : "DIFFERENT from", static_cast<long long>(source.size(1)),
                static_cast<long long>(state.cross.bytes()));
    return same ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "decoder_layer: %s\n", error.what());
    return 1;
  }
}
