#include "longspan/models/language_model.h"

#include <ATen/ops/linear.h>
#include <torch/nn/init.h>

#include <cmath>

#include "longspan/io/fingerprint.h"
#include "longspan/models/blocks.h"
#include "longspan/models/chunked_nll.h"
#include "longspan/models/positions.h"
#include "longspan/models/recompute.h"

namespace longspan::models {

namespace {

constexpr const char* kOwner = "language model";

/// The state's tensors enter and leave by the order of their names.
at::Tensor recomputed_extend(const std::shared_ptr<Block>& block, nn::State& state, const at::Tensor& x,
                             const std::optional<at::Tensor>& valid, const DropoutKey& dropout) {
  std::vector<std::string> names;
  std::vector<at::Tensor> inputs = {x};
  for (const auto& [name, tensor] : state.tensors()) {
    names.push_back(name);
    inputs.push_back(tensor);
  }
  const Body body = [block, names, valid, dropout](const std::vector<at::Tensor>& in) {
    nn::State inner;
    for (std::size_t i = 0; i < names.size(); ++i) inner.set(names[i], in[i + 1]);
    std::vector<at::Tensor> out = {block->extend(inner, in[0], valid, dropout)};
    for (const auto& [name, tensor] : inner.tensors()) out.push_back(tensor);
    return out;
  };
  const std::vector<at::Tensor> out = recomputed(body, inputs, block->parameters());
  for (std::size_t i = 0; i < names.size(); ++i) state.set(names[i], out[i + 1]);
  return out.front();
}

}  // namespace

LanguageModel::LanguageModel(ModelConfig config) : torch::nn::Module("LanguageModel"), config_(std::move(config)) {
  validate(config_);
  const double width = static_cast<double>(config_.width);
  const double deviation = config_.positions == Positions::sinusoidal ? 1 / std::sqrt(width) : 0.02;
  const auto table = [&](const std::string& name, int64_t rows) {
    return register_parameter(name, torch::nn::init::normal_(torch::empty({rows, config_.width}), 0, deviation));
  };
  embedding_.kind = config_.positions;
  embedding_.maximum = config_.max_positions;
  embedding_.tokens = table("embedding", config_.vocabulary);
  if (config_.positions == Positions::learned) embedding_.positions = table("positions", config_.max_positions);

  auto blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t i = 0; i < config_.layers; ++i) {
    blocks_.push_back(std::make_shared<Block>(block_options(config_, i)));
    blocks->push_back(blocks_.back());
  }
  norm_ = register_module("norm", std::make_shared<Norm>(config_.shape, config_.width));
  head_ = config_.tied ? embedding_.tokens : table("head", config_.vocabulary);
  config_.attention_options = blocks_.front()->attention().options();
}

at::Tensor LanguageModel::embed(const at::Tensor& tokens, const at::Tensor& start, const TokenInputs& inputs) const {
  at::Tensor positions;
  if (embedding_.reads_positions())
    positions = ranks(tokens.size(0), tokens.size(1), start, inputs.valid, inputs.cu_seqlens);
  return models::embed(kOwner, embedding_, tokens, positions);
}

at::Tensor LanguageModel::hidden(const at::Tensor& tokens, const TokenInputs& inputs) {
  check_tokens(kOwner, tokens, config_.vocabulary);
  check_masks(kOwner, inputs, tokens);
  at::Tensor x = embed(tokens, {}, inputs);
  const nn::AttentionInputs given = attention_inputs(inputs);
  const DropoutKey dropout = key_of_pass(inputs.dropout, drops());
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = recompute_ ? recomputed_forward(blocks_[i], x, given, key_of_part(dropout, i))
                   : blocks_[i]->forward(x, given, key_of_part(dropout, i));
  return norm_->forward(x);
}

at::Tensor LanguageModel::logits(const at::Tensor& hidden) { return at::linear(hidden, head_); }

at::Tensor LanguageModel::nll(const at::Tensor& hidden, const at::Tensor& targets, int64_t chunk) {
  check_tokens(kOwner, targets, config_.vocabulary);
  LONGSPAN_CHECK(hidden.dim() == 3 && hidden.size(0) == targets.size(0) && hidden.size(1) == targets.size(1),
                 "language model: hidden [B, N, E] and targets [B, N] must agree, got ", hidden.sizes(), " and ",
                 targets.sizes());
  return chunked_nll(hidden.flatten(0, 1), head_, targets.flatten(), chunk).view(targets.sizes());
}

at::Tensor LanguageModel::nll(const at::Tensor& tokens, int64_t chunk) {
  LONGSPAN_CHECK(tokens.dim() == 2 && tokens.size(1) >= 1, "language model: tokens must be [batch, length + 1], got ",
                 tokens.sizes());
  const int64_t length = tokens.size(1) - 1;
  return nll(hidden(tokens.narrow(1, 0, length)), tokens.narrow(1, 1, length), chunk);
}

ModelState LanguageModel::begin(int64_t batch) const {
  ModelState state;
  for (const auto& block : blocks_) state.layers.push_back(block->attention().begin(batch));
  state.positions = torch::zeros({batch}, torch::kLong);
  return state;
}

at::Tensor LanguageModel::extend(ModelState& state, const at::Tensor& tokens, const std::optional<at::Tensor>& valid,
                                 const std::optional<DropoutKey>& dropout) {
  check_tokens(kOwner, tokens, config_.vocabulary);
  LONGSPAN_CHECK(state.layers.size() == blocks_.size(), "language model: the state has ", state.layers.size(),
                 " layers, the model ", blocks_.size());
  LONGSPAN_CHECK(state.batch() == tokens.size(0), "language model: the state has ", state.batch(),
                 " streams, the tokens ", tokens.size(0));
  if (valid) check_mask(kOwner, "valid", *valid, tokens);
  at::Tensor x = embed(tokens, state.positions, {.valid = valid});
  const DropoutKey key = key_of_pass(dropout, drops());
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = recompute_ ? recomputed_extend(blocks_[i], state.layers[i], x, valid, key_of_part(key, i))
                   : blocks_[i]->extend(state.layers[i], x, valid, key_of_part(key, i));
  state.positions =
      state.positions + (valid ? valid->sum(1) : torch::full({tokens.size(0)}, tokens.size(1), torch::kLong));
  return norm_->forward(x);
}

at::Tensor LanguageModel::auxiliary_loss() const { return models::auxiliary_loss(blocks_); }

void LanguageModel::after_step() { models::after_step(blocks_); }

std::vector<ParameterGroup> LanguageModel::parameter_groups(double epe_lr_factor) const {
  return models::parameter_groups(*this, epe_lr_factor);
}

int64_t LanguageModel::parameter_count() const { return models::parameter_count(*this); }

void LanguageModel::ablate(const std::string& part, const std::string& way) {
  for (const auto& block : blocks_) block->attention().ablate(part, way);
}

nn::AttentionCost LanguageModel::attention_cost(int64_t n) const {
  nn::AttentionCost total;
  for (const auto& block : blocks_) {
    const nn::AttentionCost cost = block->attention().cost(n, n);
    total.flops += cost.flops;
    total.bytes += cost.bytes;
    total.state_bytes += cost.state_bytes;
  }
  return total;
}

NamedTensors LanguageModel::weights() const { return weights_of(*this); }

std::string LanguageModel::identity() const {
  Fingerprint both;
  both.add(to_json(config_).dump());
  both.add(fingerprint(weights()));
  return both.hex();
}

}  // namespace longspan::models
