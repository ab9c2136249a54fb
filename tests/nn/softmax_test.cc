#include "longspan/nn/softmax.h"

#include <torch/csrc/autograd/autograd.h>

#include "longspan/nn/merged_attention.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/rotary.h"
#include "support.h"

namespace longspan::nn {
namespace {

TEST(Softmax, GivesTheGoldenValues) {
  const auto rows = [](std::initializer_list<double> values) {
    return at::tensor(values, float64()).view({1, 1, 4, 2});
  };
  const at::Tensor q = rows({1, 0, 0, 1, 1, 1, -1, 0}), k = rows({1, 0, 0, 1, -1, 1, 0, -1}),
                   v = rows({1, 0, 0, 1, 1, 1, 2, 0});
  const AttentionSizes sizes = {.width = 2, .heads = 1};
  EXPECT_TRUE(close(make("softmax", Pattern::noncausal_self, {}, sizes)->attend(q, k, v),
                    rows({1, 0.330238, 0.723380, 0.730945, 0.723380, 0.545675, 1, 0.669762}), 1e-6));
  EXPECT_TRUE(close(make("softmax", Pattern::causal_self, {}, sizes)->attend(q, k, v),
                    rows({1, 0, 0.330238, 0.669762, 0.598888, 0.598888, 1, 0.669762}), 1e-6));
}

TEST(Softmax, ShowsTheWeightsItHas) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = normal({2, 9, 16}, 1), source = normal({2, 5, 16}, 2);
  for (const Pattern pattern : {Pattern::noncausal_self, Pattern::causal_self})
    for (const int64_t key_heads : {1, 2}) {
      const auto module = make("softmax", pattern, {{"rope", true}}, {.width = 16, .heads = 2, .kv_heads = key_heads});
      EXPECT_TRUE(close(module->forward(x), output_shown(*module, x), layer_bound(*module, x, 9)));
    }
  const auto cross = make("softmax", Pattern::noncausal_cross);
  EXPECT_TRUE(close(cross->forward(x, {.source = source}), output_shown(*cross, x, source), layer_bound(*cross, x, 9)));
}

// Scores after rotation depend on the distance alone.
TEST(Rotary, IsRelative) {
  const at::Tensor q = normal({1, 2, 5, 8}, 1), k = normal({1, 2, 5, 8}, 2);
  const auto scores = [&](int64_t shift) {
    const Rotary rotary(at::arange(5, at::kLong) + shift, 8, 10000.0, q.options());
    return at::matmul(rotary.turn(q), rotary.turn(k).transpose(-1, -2));
  };
  // An angle of 1004 radians in float64 errs by 1004 u, a score by twice that times its absolute sum.
  const double sum = at::matmul(q.abs(), k.abs().transpose(-1, -2)).max().item<double>();
  EXPECT_TRUE(close(scores(1000), scores(0), 2 * 2 * sum * (1004 * 4 + 16) * testing::unit_roundoff<double>()));
  // Position 1, pair 0: an angle of 1; pair 3: 10000^(-6/8) = 0.001.
  const Rotary one(at::ones({1}, at::kLong), 8, 10000.0, q.options());
  EXPECT_TRUE(close(one.cosine[0][0], at::full({}, std::cos(1.0), float64()), 1e-15));
  EXPECT_TRUE(close(one.sine[0][3], at::full({}, std::sin(0.001), float64()), 1e-15));
}

TEST(MergedAttention, EqualsTheMaskedSoftmaxWithItsGradients) {
  for (const auto& [past, fresh] : {std::pair<int64_t, int64_t>{5, 4}, {1, 3}, {40, 33}, {6, 1}, {0, 4}, {3, 0}}) {
    std::vector<at::Tensor> inputs = {normal({2, 3, fresh, 8}, 1), normal({2, 3, past, 8}, 2),
                                      normal({2, 3, past, 8}, 3), normal({2, 3, fresh, 8}, 4),
                                      normal({2, 3, fresh, 8}, 5)};
    for (auto& t : inputs) t.requires_grad_();
    const at::Tensor incoming = normal({2, 3, fresh, 8}, 6);
    const at::Tensor y = merged_attention(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]);
    const auto got = torch::autograd::grad({y}, {inputs}, {incoming}, std::nullopt, false, true);

    const at::Tensor k = at::cat({inputs[1], inputs[3]}, 2), v = at::cat({inputs[2], inputs[4]}, 2);
    const at::Tensor seen = at::ones({fresh, past + fresh}, at::kBool).tril(past);
    const at::Tensor scores = at::matmul(inputs[0], k.transpose(-1, -2)) / std::sqrt(8.0);
    const at::Tensor expected = at::matmul(scores.masked_fill(~seen, -INFINITY).softmax(-1), v);
    const auto wanted = torch::autograd::grad({expected}, {inputs}, {incoming}, std::nullopt, false, true);
    // Normal data: values and gradients are sums of up to past + fresh products with |value| < 6 and |score| < 100.
    const double bound =
        testing::sum_bound<double>(past + fresh + 16) * 6 * 6 * 100 * static_cast<double>(past + fresh + 8);
    EXPECT_TRUE(close(y, expected, bound)) << past << " + " << fresh;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const at::Tensor zero = at::zeros_like(inputs[i]);
      EXPECT_TRUE(close(got[i].defined() ? got[i] : zero, wanted[i].defined() ? wanted[i] : zero, bound))
          << past << " + " << fresh << ", input " << i;
    }
  }
}

TEST(Softmax, StateHoldsEveryKey) {
  const auto module = make("softmax", Pattern::causal_self, {{"rope", true}});
  State state = module->begin(2);
  module->extend(state, normal({2, 5, 16}, 1));
  module->extend(state, normal({2, 1, 16}, 2));
  EXPECT_EQ(state.at("keys").sizes(), (std::vector<int64_t>{2, 2, 6, 8}));
  EXPECT_EQ(state.bytes(),
            2 * static_cast<int64_t>(module->cost(6, 6).state_bytes * 2 - 8));  // float64: twice the rows
}

TEST(Softmax, RefusesRotationWhereItHasNoMeaning) {
  expect_input_error(
      [] {
        make("softmax", Pattern::causal_cross, {{"rope", true}});
      },
      "softmax: rope has no use in the pattern causal_cross, got true");
  expect_input_error(
      [] {
        make("softmax", Pattern::causal_self, {{"rope", true}}, {.width = 6, .heads = 2});
      },
      "softmax: rope needs an even head width, got 3");
}

}  // namespace
}  // namespace longspan::nn
