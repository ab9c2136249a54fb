#include "longspan/train/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/small_models.h"

namespace longspan::train {
namespace {

using models::small_config;

TEST(AdamW, FollowsItsFormula) {
  const auto model = models::small_model(small_config());
  TrainOptions options;
  options.clip = 0;
  options.weight_decay = 0.3;
  AdamW optimizer(*model, options);
  struct Reference {
    at::Tensor parameter, w, m, v;
    double decay, factor;
  };
  std::vector<Reference> references;
  for (const auto& group : model->parameter_groups(options.epe_lr_factor))
    for (const auto& [name, parameter] : group.parameters)
      references.push_back({parameter, parameter.detach().clone(), torch::zeros_like(parameter),
                            torch::zeros_like(parameter), group.weight_decay ? 0.3 : 0, group.lr_factor});
  for (int64_t t = 1; t <= 3; ++t) {
    model->nll(models::random_tokens(2, 9, 11, t)).sum().backward();
    for (auto& r : references) {
      const at::Tensor g = r.parameter.grad();
      r.m = options.beta1 * r.m + (1 - options.beta1) * g;
      r.v = options.beta2 * r.v + (1 - options.beta2) * g * g;
      const at::Tensor m = r.m / (1 - std::pow(options.beta1, t)), v = r.v / (1 - std::pow(options.beta2, t));
      const double lr = 0.01 * r.factor;
      r.w = r.w * (1 - lr * r.decay) - lr * m / (v.sqrt() + options.epsilon);
    }
    optimizer.step(t, 0.01, optimizer.gradient_norm());
    for (const auto& r : references) {
      // The scalars of a step are rounded to float32 by the fused kernel at worst; an update is at most lr / (1 -
      // beta1).
      EXPECT_CLOSE(r.parameter, r.w, t * 16 * testing::unit_roundoff<float>() * 0.01 * r.factor * 10);
      EXPECT_FALSE(r.parameter.grad().defined());
    }
  }
}

TEST(AdamW, ClipsByTheNormOfAllGradients) {
  // Two models with the same gradient, one of them scaled up: after clipping both the first moments are the same.
  const auto a = models::small_model(small_config()), b = models::small_model(small_config());
  TrainOptions options;
  options.clip = 1e-3;
  AdamW first(*a, options), second(*b, options);
  a->nll(models::random_tokens(2, 9)).sum().backward();
  (b->nll(models::random_tokens(2, 9)).sum() * 1000).backward();
  const double norm = first.gradient_norm();
  EXPECT_GT(norm, options.clip);
  EXPECT_NEAR(second.gradient_norm() / norm, 1000, 1e-9);
  first.step(1, 0, norm);
  second.step(1, 0, second.gradient_norm());
  double squares = 0;
  const auto other = second.state();
  for (const auto& [name, moment] : first.state()) {
    if (!name.starts_with("moment1.")) continue;
    squares += (moment / (1 - options.beta1)).square().sum().item<double>();
    // Some gradients are zero but for rounding (a bias of the keys shifts every score of a row).
    EXPECT_CLOSE(moment, other.at(name),
                 8 * testing::unit_roundoff<float>() * moment.abs().max().item<double>() +
                     testing::sum_bound<double>(1000) * options.clip);
  }
  EXPECT_NEAR(std::sqrt(squares), options.clip, options.clip * 8 * testing::unit_roundoff<float>());
}

TEST(AdamW, SmallGradientsAreLeftAlone) {
  const auto model = models::small_model(small_config());
  TrainOptions options;
  options.clip = 1e9;
  AdamW optimizer(*model, options);
  model->nll(models::random_tokens(2, 9)).sum().backward();
  const at::Tensor gradient = model->named_parameters()["norm.weight"].grad().clone();
  optimizer.step(1, 0, optimizer.gradient_norm());
  EXPECT_CLOSE(optimizer.state().at("moment1.norm.weight"), gradient * (1 - options.beta1),
               4 * testing::unit_roundoff<double>() * gradient.abs().max().item<double>());
}

}  // namespace
}  // namespace longspan::train
