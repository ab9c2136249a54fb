// Small encoders for tests.
#pragma once

#include <memory>
#include <string>

#include "longspan/models/encoder_model.h"
#include "tests/models/small_models.h"

namespace longspan::models {

/// 11 tokens, the last four of them special.
inline EncoderConfig small_encoder_config(const std::string& attention = "softmax") {
  const ModelConfig like = small_config(attention);
  EncoderConfig config;
  config.attention = like.attention;
  config.attention_options = like.attention_options;
  config.layers = like.layers;
  config.width = like.width;
  config.heads = like.heads;
  config.feed_forward = like.feed_forward;
  config.vocabulary = like.vocabulary;
  config.max_positions = like.max_positions;
  return config;
}

/// float64, with every bias and norm away from where it begins.
inline std::shared_ptr<Encoder> small_encoder(const EncoderConfig& config, int64_t seed = 7) {
  torch::manual_seed(seed);
  auto encoder = std::make_shared<Encoder>(config);
  torch::NoGradGuard no_grad;
  for (auto& parameter : encoder->parameters())
    parameter.add_(torch::randn_like(parameter) * (parameter.dim() == 1 ? 0.1 : 0.2));
  encoder->to(torch::kDouble);
  encoder->eval();
  return encoder;
}

}  // namespace longspan::models
