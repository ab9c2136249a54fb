#include "longspan/models/residual_dropout.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

at::Tensor factors(at::IntArrayRef sizes, double probability, const DropoutKey& key) {
  return add_with_dropout(torch::zeros(sizes), torch::ones(sizes), probability, key);
}

TEST(ResidualDropout, KeepsTheShareAndScalesIt) {
  const int64_t count = 200 * 30;
  const at::Tensor kept = factors({2, 100, 30}, 0.25, {3, 0});
  const at::Tensor zero = kept == 0;
  EXPECT_TRUE((kept.masked_select(zero.logical_not()) == static_cast<float>(1 / 0.75)).all().item<bool>());
  // Six deviations of a binomial: a wrong probability is off by more, chance is not in 10^8 draws.
  EXPECT_NEAR(zero.sum().item<double>(), 0.25 * count, 6 * std::sqrt(count * 0.25 * 0.75));
  EXPECT_FALSE(kept.equal(factors({2, 100, 30}, 0.25, {4, 0}))) << "another seed";
  EXPECT_FALSE(kept[0].equal(kept[1])) << "another row";
}

// A width that is no multiple of four, and numbers of tokens beyond 32 bits.
TEST(ResidualDropout, PartsOfABatchDropWhatTheWholeDrops) {
  for (const int64_t start : {int64_t{0}, (int64_t{1} << 32) - 7}) {
    const at::Tensor whole = factors({4, 5, 7}, 0.4, {9, start});
    EXPECT_TRUE(factors({2, 5, 7}, 0.4, {9, start + 10}).equal(whole.narrow(0, 2, 2)));
    EXPECT_TRUE(factors({1, 20, 7}, 0.4, {9, start}).view({4, 5, 7}).equal(whole));
  }
  EXPECT_FALSE(factors({1, 5, 7}, 0.4, {9, 3}).equal(factors({1, 5, 7}, 0.4, {9, (int64_t{1} << 32) + 3})));
}

TEST(ResidualDropout, TheGradientPassesWhereTheValueDoes) {
  const at::Tensor x = torch::randn({2, 3, 6}).requires_grad_(), branch = torch::randn({2, 3, 6}).requires_grad_();
  const at::Tensor kept = factors({2, 3, 6}, 0.5, {1, 2}), weight = torch::randn({2, 3, 6});
  const at::Tensor out = add_with_dropout(x, branch, 0.5, {1, 2});
  EXPECT_TRUE(out.equal(x + branch * kept));  // the factors are 0 and 2
  const auto grads = torch::autograd::grad({out}, {x, branch}, {weight});
  EXPECT_TRUE(grads[0].equal(weight));
  EXPECT_TRUE(grads[1].equal(weight * kept));
}

TEST(ResidualDropout, TheStreamKeepsItsDtypeBesideABfloat16Branch) {
  const at::Tensor x = torch::randn({1, 2, 4}), branch = torch::randn({1, 2, 4}).to(torch::kBFloat16).requires_grad_();
  const at::Tensor out = add_with_dropout(x, branch, 0.5, {1, 2});
  EXPECT_EQ(out.scalar_type(), torch::kFloat);
  const auto grads = torch::autograd::grad({out}, {branch}, {torch::ones_like(out)});
  EXPECT_EQ(grads[0].scalar_type(), torch::kBFloat16);
  EXPECT_EQ(add_with_dropout(torch::zeros({1, 0, 4}), torch::zeros({1, 0, 4}), 0.5, {}).numel(), 0);
}

}  // namespace
}  // namespace longspan::models
