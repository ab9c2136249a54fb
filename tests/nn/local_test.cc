#include "longspan/nn/local.h"

#include "support.h"

namespace longspan::nn {
namespace {

// Fixture F4 of the baselines: golden rows to six decimals.
TEST(Local, GivesTheGoldenValues) {
  const auto rows = [](std::initializer_list<double> values) {
    return at::tensor(values, float64()).view({1, 1, 4, 2});
  };
  const at::Tensor q = rows({1, 0, 0, 1, 1, 1, -1, 0}), k = rows({1, 0, 0, 1, -1, 1, 0, -1}),
                   v = rows({1, 0, 0, 1, 1, 1, 2, 0});
  const AttentionSizes sizes = {.width = 2, .heads = 1};
  const auto causal = make("local", Pattern::causal_self, {{"w", int64_t{2}}}, sizes);
  EXPECT_TRUE(close(causal->attend(q, k, v), rows({1, 0, 0.330238, 0.669762, 0.330238, 1, 1.330238, 0.669762}), 1e-6));
  const auto whole = make("local", Pattern::noncausal_self, {{"w", int64_t{1}}}, sizes);
  EXPECT_TRUE(close(whole->attend(q, k, v),
                    rows({0.669762, 0.330238, 0.598888, 0.802224, 0.564054, 0.859971, 1.330238, 0.669762}), 1e-6));
}

TEST(Local, AWindowOverEverythingIsSoftmax) {
  for (const Pattern pattern : {Pattern::causal_self, Pattern::noncausal_self}) {
    const auto local = make("local", pattern, {{"w", int64_t{9}}}), softmax = make("softmax", pattern);
    const at::Tensor x = normal({2, 9, 16}, 1);
    EXPECT_TRUE(close(local->forward(x), softmax->forward(x), layer_bound(*local, x, 9)));
  }
}

TEST(Local, ShowsTheWeightsItHas) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = normal({2, 11, 16}, 1);
  for (const Pattern pattern : {Pattern::causal_self, Pattern::noncausal_self})
    for (const char* positions : {"none", "table"}) {
      const auto module = make("local", pattern, {{"w", int64_t{3}}, {"positions", positions}});
      EXPECT_TRUE(close(module->forward(x), output_shown(*module, x), layer_bound(*module, x, 11)));
    }
}

TEST(Local, TheTableIsATrainedParameter) {
  const auto module = make("local", Pattern::causal_self, {{"w", int64_t{4}}, {"positions", "table"}});
  const at::Tensor table = module->named_parameters()["position_table"];
  ASSERT_EQ(table.sizes(), (std::vector<int64_t>{2, 7}));
  // slope: head h falls by 2^-h a position.
  EXPECT_TRUE(close(table[0], at::tensor({-3., -2., -1., 0., -1., -2., -3.}, float64()), 0));
  EXPECT_TRUE(close(table[1], at::tensor({-1.5, -1., -.5, 0., -.5, -1., -1.5}, float64()), 0));
  module->forward(normal({1, 9, 16}, 1)).square().sum().backward();
  EXPECT_TRUE(table.grad().narrow(1, 0, 4).ne(0).all().item<bool>());
  EXPECT_TRUE(table.grad().narrow(1, 4, 3).eq(0).all().item<bool>()) << "offsets ahead are never read";
  EXPECT_FALSE(make("local", Pattern::causal_self)->named_parameters().contains("position_table"));
}

TEST(Local, CountsWhatItReads) {
  const auto module = make("local", Pattern::causal_self, {{"w", int64_t{3}}});
  // Rows of 1, 2, 3, 3, 3 keys, E = 16, 2 multiply-adds of 2 flops each.
  EXPECT_EQ(module->cost(5, 5).flops, 4 * 16 * 12);
  EXPECT_EQ(module->cost(2, 5).flops, 4 * 16 * 6);
  EXPECT_EQ(module->cost(5, 5).state_bytes, 4 * 2 * 2 * 16 + 8);
  EXPECT_EQ(make("local", Pattern::noncausal_self, {{"w", int64_t{1}}})->cost(5, 5).flops, 4 * 16 * 13);
  EXPECT_EQ(make("softmax", Pattern::causal_self)->cost(5, 5).flops, 4 * 16 * 15);
}

}  // namespace
}  // namespace longspan::nn
