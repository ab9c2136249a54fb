#include "longspan/models/blocks.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <torch/nn/init.h>

#include <cmath>

#include "longspan/models/recompute.h"
#include "longspan/models/token_inputs.h"
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

template <class Config>
BlockOptions shared_options(const Config& config, int64_t layer) {
  BlockOptions options;
  options.attention = config.attention;
  options.attention_options = config.attention_options;
  options.sizes.width = config.width;
  options.sizes.heads = config.heads;
  options.sizes.kv_heads = config.kv_heads;
  options.sizes.layer = layer;
  if (config.positions == Positions::rotary) options.sizes.rotary_base = config.rotary_base;
  options.feed_forward = config.feed_forward;
  options.layers = config.layers;
  options.dropout = config.dropout;
  return options;
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

FeedForward::FeedForward(const BlockOptions& options) {
  const int64_t width = options.sizes.width;
  const bool gpt2 = options.shape == Shape::gpt2;
  if (!gpt2) gate_ = register_module("gate", linear(width, options.feed_forward, false));
  up_ = register_module("up", linear(width, options.feed_forward, gpt2));
  down_ = register_module("down", linear(options.feed_forward, width, gpt2));
  if (options.norm == NormPlace::pre) shrink_branch(down_->weight, options.layers);
}

at::Tensor FeedForward::forward(const at::Tensor& x) {
  if (gate_.is_empty()) return down_(at::gelu(up_(x)));
  return down_(at::silu(gate_(x)) * up_(x));
}

BlockOptions block_options(const ModelConfig& config, int64_t layer) {
  BlockOptions options = shared_options(config, layer);
  options.pattern = nn::Pattern::causal_self;
  options.shape = config.shape;
  options.sizes.bias = config.shape == Shape::gpt2;
  return options;
}

BlockOptions block_options(const EncoderConfig& config, int64_t layer) {
  BlockOptions options = shared_options(config, layer);
  options.pattern = nn::Pattern::noncausal_self;
  options.norm = config.norm;
  return options;
}

Block::Block(const BlockOptions& options) : post_(options.norm == NormPlace::post), dropout_(options.dropout) {
  const auto norm = [&] { return std::make_shared<Norm>(options.shape, options.sizes.width); };
  attention_norm_ = register_module("attention_norm", norm());
  attention_ = register_module(
      "attention", nn::make_attention(options.attention, options.pattern, options.sizes, options.attention_options));
  const auto parameters = attention_->named_parameters();  // what find() points into
  if (const auto* out = parameters.find("out.weight"); out && !post_) shrink_branch(*out, options.layers);
  feed_forward_norm_ = register_module("feed_forward_norm", norm());
  feed_forward_ = register_module("feed_forward", std::make_shared<FeedForward>(options));
}

at::Tensor Block::attention_input(const at::Tensor& x) const {
  return cast_once(post_ ? x : attention_norm_->forward(x));
}

at::Tensor Block::add_branches(const at::Tensor& x, const at::Tensor& attention, const DropoutKey& dropout) {
  const auto add = [&](const at::Tensor& to, const at::Tensor& branch, uint64_t number) {
    if (dropout_ == 0 || !is_training()) return to + branch;
    return add_with_dropout(to, branch, dropout_, key_of_part(dropout, number));
  };
  at::Tensor h = add(x, attention, 0);
  if (post_) {
    h = attention_norm_->forward(h);
    return feed_forward_norm_->forward(add(h, feed_forward_->forward(h), 1));
  }
  return add(h, feed_forward_->forward(feed_forward_norm_->forward(h)), 1);
}

at::Tensor Block::forward(const at::Tensor& x, const nn::AttentionInputs& inputs, const DropoutKey& dropout) {
  return add_branches(x, attention_->forward(attention_input(x), inputs), dropout);
}

at::Tensor Block::extend(nn::State& state, const at::Tensor& x, const std::optional<at::Tensor>& valid,
                         const DropoutKey& dropout) {
  return add_branches(x, attention_->extend(state, attention_input(x), valid), dropout);
}

at::Tensor auxiliary_loss(const std::vector<std::shared_ptr<Block>>& blocks) {
  at::Tensor sum;
  for (const auto& block : blocks) {
    const at::Tensor loss = block->attention().auxiliary_loss();
    if (loss.defined()) sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

void after_step(const std::vector<std::shared_ptr<Block>>& blocks) {
  for (const auto& block : blocks) block->attention().after_step();
}

at::Tensor recomputed_forward(const std::shared_ptr<Block>& block, const at::Tensor& x,
                              const nn::AttentionInputs& inputs, const DropoutKey& dropout) {
  const Body body = [block, inputs, dropout](const std::vector<at::Tensor>& in) {
    return std::vector<at::Tensor>{block->forward(in[0], inputs, dropout)};
  };
  return recomputed(body, {x}, block->parameters()).front();
}

}  // namespace longspan::models
