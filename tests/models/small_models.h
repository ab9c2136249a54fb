// Small models, tokens and comparisons for the tests of models and train.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "longspan/models/language_model.h"
#include "longspan/testing/compare.h"

namespace longspan::models {

inline ModelConfig small_config(const std::string& attention = "lavo", Shape shape = Shape::gpt2) {
  ModelConfig config;
  config.attention = attention;
  if (attention == "lavo" || attention == "lavo_selective")
    config.attention_options = {{"r", int64_t{4}}, {"w", int64_t{3}}};
  if (attention == "local") config.attention_options = {{"w", int64_t{4}}};
  if (attention == "diffuser")
    config.attention_options = {
        {"pattern", "window_band+global"}, {"k", int64_t{3}}, {"g", int64_t{1}}, {"global_choice", "first"}};
  config.layers = 2;
  config.width = 16;
  config.heads = 2;
  config.feed_forward = 24;
  config.vocabulary = 11;
  config.max_positions = 64;
  config.shape = shape;
  return config;
}

/// float64, so that a comparison sees mistakes and not rounding.
inline std::shared_ptr<LanguageModel> small_model(const ModelConfig& config, int64_t seed = 7) {
  torch::manual_seed(seed);
  auto model = std::make_shared<LanguageModel>(config);
  torch::NoGradGuard no_grad;
  for (auto& parameter : model->parameters())  // initial values leave biases at 0 and norms at 1: move them off
    if (parameter.dim() == 1) parameter.add_(torch::randn_like(parameter) * 0.1);
  model->to(torch::kDouble);
  model->eval();
  return model;
}

inline at::Tensor random_tokens(int64_t batch, int64_t length, int64_t vocabulary = 11, int64_t seed = 3) {
  torch::manual_seed(seed);
  return torch::randint(vocabulary, {batch, length}, torch::kLong);
}

/// Rounding of a hidden state: the sums along the longest path through all layers, on values of `magnitude`.
inline double hidden_bound(const ModelConfig& config, int64_t length, double magnitude) {
  const int64_t terms = config.layers * (4 * config.width + 2 * config.feed_forward + 2 * length);
  return testing::sum_bound<double>(terms) * magnitude;
}

inline testing::Comparison close(const at::Tensor& actual, const at::Tensor& expected, double bound) {
  if (actual.sizes() != expected.sizes()) return {false, str_cat("sizes ", actual.sizes(), " and ", expected.sizes())};
  const at::Tensor a = actual.detach().to(torch::kDouble).contiguous(),
                   e = expected.detach().to(torch::kDouble).contiguous();
  return testing::within(a.const_data_ptr<double>(), e.const_data_ptr<double>(), a.numel(), bound);
}

#define EXPECT_CLOSE(actual, expected, bound)                                         \
  do {                                                                                \
    const auto comparison = ::longspan::models::close((actual), (expected), (bound)); \
    EXPECT_TRUE(comparison.ok) << comparison.message;                                 \
  } while (false)

}  // namespace longspan::models
