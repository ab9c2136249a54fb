#include "longspan/train/autocast.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "tests/models/small_models.h"

namespace longspan::train {
namespace {

/// bfloat16 keeps 8 bits, so a rounding is off by at most 2^-8 of the value. A product rounds both operands and its
/// result: 3 roundings. The longest path of each of the 2 layers leads through 6 products (queries, scores, values,
/// out, up, down); norms and residual stream are float32.
constexpr double kBound = 2 * 6 * 3 * 0x1p-8;

TEST(Autocast, IsUndoneAndNests) {
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  {
    AutocastGuard outer(true);
    {
      AutocastGuard inner(true);
      EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
    }
    EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), at::kBFloat16);
  }
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  AutocastGuard off(false);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST(Autocast, SeesUpdatedWeightsAndStaysNearFloat32) {
  for (const char* attention : {"lavo", "lavo_selective", "diffuser", "gated_delta_net", "gla", "local", "softmax"}) {
    torch::manual_seed(1);
    models::LanguageModel model(models::small_config(attention));
    const at::Tensor tokens = models::random_tokens(2, 20);
    const auto both = [&] {
      torch::NoGradGuard no_grad;
      const at::Tensor exact = model.hidden(tokens);
      AutocastGuard autocast(true);
      return std::pair(model.hidden(tokens), exact);
    };
    const auto [first, exact] = both();
    EXPECT_EQ(first.scalar_type(), at::kFloat) << "the residual stream stays float32";
    const double bound = kBound * exact.abs().max().item<double>();
    EXPECT_CLOSE(first, exact, bound);
    EXPECT_FALSE(first.equal(exact));

    // A gradient step under autocast, then again: cached bfloat16 weights must not outlive the guard.
    at::Tensor loss;
    {
      AutocastGuard autocast(true);
      loss = model.nll(tokens).mean();
    }
    loss.backward();
    {
      torch::NoGradGuard no_grad;
      for (auto& parameter : model.parameters()) {
        ASSERT_EQ(parameter.grad().scalar_type(), at::kFloat);
        parameter.add_(parameter.grad(), -0.5);
      }
    }
    model.after_step();
    const auto [second, moved] = both();
    const double second_bound = kBound * moved.abs().max().item<double>();
    EXPECT_CLOSE(second, moved, second_bound);
    EXPECT_GT((second - first).abs().max().item<double>(), bound + second_bound) << "the step must be seen";
  }
}

}  // namespace
}  // namespace longspan::train
