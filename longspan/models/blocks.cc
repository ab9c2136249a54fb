#include "longspan/models/blocks.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <torch/nn/init.h>

#include <cmath>

#include "longspan/base/rng.h"
#include "longspan/nn/registry.h"

namespace longspan::models {

namespace {

constexpr double kNormEpsilon = 1e-5;

torch::nn::Linear linear(int64_t in, int64_t out, bool bias) {
  torch::nn::Linear layer(torch::nn::LinearOptions(in, out).bias(bias));
  torch::nn::init::xavier_uniform_(layer->weight);
  if (bias) torch::nn::init::zeros_(layer->bias);
  return layer;
}

/// The variance of the residual stream must not grow with the depth: each of the 2L branches starts 1 / sqrt(2L) as
/// large.
void shrink_branch(at::Tensor weight, int64_t layers) {
  torch::NoGradGuard no_grad;
  weight.div_(std::sqrt(2.0 * static_cast<double>(layers)));
}

/// Under autocast every projection behind a norm would cast its output anew: once is enough.
at::Tensor cast_once(const at::Tensor& x) {
  const auto device = x.device().type();
  return at::autocast::is_autocast_enabled(device) ? x.to(at::autocast::get_autocast_dtype(device)) : x;
}

}  // namespace

Norm::Norm(Shape shape, int64_t width) {
  weight_ = register_parameter("weight", torch::ones({width}));
  if (shape == Shape::gpt2) bias_ = register_parameter("bias", torch::zeros({width}));
}

at::Tensor Norm::forward(const at::Tensor& x) const {
  if (bias_.defined()) return at::layer_norm(x, {x.size(-1)}, weight_, bias_, kNormEpsilon);
  return at::rms_norm(x, {x.size(-1)}, weight_, kNormEpsilon);
}

FeedForward::FeedForward(const ModelConfig& config) {
  const bool gpt2 = config.shape == Shape::gpt2;
  if (!gpt2) gate_ = register_module("gate", linear(config.width, config.feed_forward, false));
  up_ = register_module("up", linear(config.width, config.feed_forward, gpt2));
  down_ = register_module("down", linear(config.feed_forward, config.width, gpt2));
  shrink_branch(down_->weight, config.layers);
}

at::Tensor FeedForward::forward(const at::Tensor& x) {
  if (gate_.is_empty()) return down_(at::gelu(up_(x)));
  return down_(at::silu(gate_(x)) * up_(x));
}

nn::AttentionSizes attention_sizes(const ModelConfig& config) {
  nn::AttentionSizes sizes;
  sizes.width = config.width;
  sizes.heads = config.heads;
  sizes.bias = config.shape == Shape::gpt2;
  sizes.kv_heads = config.kv_heads;
  if (config.positions == Positions::rotary) sizes.rotary_base = config.rotary_base;
  return sizes;
}

Block::Block(const ModelConfig& config) : dropout_(config.dropout) {
  attention_norm_ = register_module("attention_norm", std::make_shared<Norm>(config.shape, config.width));
  attention_ = register_module("attention", nn::make_attention(config.attention, nn::Pattern::causal_self,
                                                               attention_sizes(config), config.attention_options));
  const auto parameters = attention_->named_parameters();  // what find() points into
  if (const auto* out = parameters.find("out.weight")) shrink_branch(*out, config.layers);
  feed_forward_norm_ = register_module("feed_forward_norm", std::make_shared<Norm>(config.shape, config.width));
  feed_forward_ = register_module("feed_forward", std::make_shared<FeedForward>(config));
}

at::Tensor Block::add_branches(const at::Tensor& x, const at::Tensor& attention, const DropoutKey& dropout) {
  const auto add = [&](const at::Tensor& to, const at::Tensor& branch, uint64_t number) {
    if (dropout_ == 0 || !is_training()) return to + branch;
    return add_with_dropout(to, branch, dropout_, {stream_of({dropout.seed, number}), dropout.first_token});
  };
  const at::Tensor h = add(x, attention, 0);
  return add(h, feed_forward_->forward(feed_forward_norm_->forward(h)), 1);
}

at::Tensor Block::forward(const at::Tensor& x, const nn::AttentionInputs& inputs, const DropoutKey& dropout) {
  return add_branches(x, attention_->forward(cast_once(attention_norm_->forward(x)), inputs), dropout);
}

at::Tensor Block::extend(nn::State& state, const at::Tensor& x, const std::optional<at::Tensor>& valid,
                         const DropoutKey& dropout) {
  return add_branches(x, attention_->extend(state, cast_once(attention_norm_->forward(x)), valid), dropout);
}

}  // namespace longspan::models
