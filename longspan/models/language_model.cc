#include "longspan/models/language_model.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <torch/nn/init.h>

#include <cmath>

#include "longspan/base/rng.h"
#include "longspan/io/fingerprint.h"
#include "longspan/models/blocks.h"
#include "longspan/models/chunked_nll.h"
#include "longspan/models/positions.h"
#include "longspan/models/recompute.h"
#include "longspan/nn/dropout_seed.h"

namespace longspan::models {

namespace {

// Positions are formed from masks before an attention has looked at them.
void check_valid(const at::Tensor& valid, const at::Tensor& tokens) {
  LONGSPAN_CHECK(valid.defined() && valid.scalar_type() == at::kBool && valid.sizes() == tokens.sizes(),
                 "language model: valid must be bool ", tokens.sizes(), ", got ",
                 valid.defined() ? str_cat(valid.scalar_type(), " ", valid.sizes()) : "an undefined tensor");
}

void check_cu_seqlens(const at::Tensor& cu, const at::Tensor& tokens) {
  LONGSPAN_CHECK(cu.defined() && cu.dim() == 1 && cu.numel() >= 1 &&
                     (cu.scalar_type() == at::kLong || cu.scalar_type() == at::kInt),
                 "language model: cu_seqlens must be a one-dimensional int32 or int64 tensor of at least one element, "
                 "got ",
                 cu.defined() ? str_cat(cu.scalar_type(), " ", cu.sizes()) : "an undefined tensor");
  LONGSPAN_CHECK(tokens.size(0) == 1, "language model: cu_seqlens needs a batch of 1, got ", tokens.size(0));
  const at::Tensor data = cu.to(at::kCPU, at::kLong).contiguous();
  const int64_t* border = data.const_data_ptr<int64_t>();
  const int64_t last = data.numel() - 1;
  LONGSPAN_CHECK(border[0] == 0 && border[last] == tokens.size(1), "language model: cu_seqlens must go from 0 to ",
                 tokens.size(1), ", got ", border[0], " to ", border[last]);
  for (int64_t i = 1; i <= last; ++i)
    LONGSPAN_CHECK(border[i] >= border[i - 1], "language model: cu_seqlens must never fall, got ", border[i],
                   " at index ", i);
}

DropoutKey of_block(const DropoutKey& key, std::size_t layer) {
  return {stream_of({key.seed, static_cast<uint64_t>(layer)}), key.first_token};
}

at::Tensor recomputed_forward(const std::shared_ptr<Block>& block, const at::Tensor& x,
                              const nn::AttentionInputs& inputs, const DropoutKey& dropout) {
  const Body body = [block, inputs, dropout](const std::vector<at::Tensor>& in) {
    return std::vector<at::Tensor>{block->forward(in[0], inputs, dropout)};
  };
  return recomputed(body, {x}, block->parameters()).front();
}

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
  embedding_ = table("embedding", config_.vocabulary);
  if (config_.positions == Positions::learned) positions_ = table("positions", config_.max_positions);

  auto blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t i = 0; i < config_.layers; ++i) {
    blocks_.push_back(std::make_shared<Block>(config_));
    blocks->push_back(blocks_.back());
  }
  norm_ = register_module("norm", std::make_shared<Norm>(config_.shape, config_.width));
  head_ = config_.tied ? embedding_ : table("head", config_.vocabulary);
  config_.attention_options = blocks_.front()->attention().options();
}

void LanguageModel::check_tokens(const at::Tensor& tokens) const {
  LONGSPAN_CHECK(tokens.dim() == 2 && tokens.scalar_type() == at::kLong,
                 "language model: tokens must be [batch, length] of int64, got ", tokens.sizes(), " of ",
                 tokens.scalar_type());
  if (tokens.numel() == 0) return;
  const auto [least, most] = tokens.aminmax();
  const int64_t low = least.item<int64_t>(), high = most.item<int64_t>();
  LONGSPAN_CHECK(low >= 0 && high < config_.vocabulary, "language model: tokens must be from 0 to ",
                 config_.vocabulary - 1, ", got ", low < 0 ? low : high);
}

bool LanguageModel::embeds_positions() const {
  return config_.positions == Positions::sinusoidal || config_.positions == Positions::learned;
}

at::Tensor LanguageModel::embed(const at::Tensor& tokens, const at::Tensor& positions) const {
  at::Tensor x = at::embedding(embedding_, tokens);
  if (config_.positions == Positions::sinusoidal)
    return x * std::sqrt(static_cast<double>(config_.width)) + sinusoidal(positions, config_.width, x.scalar_type());
  if (config_.positions == Positions::learned) {
    const int64_t last = positions.numel() ? positions.max().item<int64_t>() : 0;
    LONGSPAN_CHECK(last < config_.max_positions,
                   "language model: learned positions end at max_positions = ", config_.max_positions,
                   ", got position ", last);
    return x + at::embedding(positions_, positions);
  }
  return x;
}

DropoutKey LanguageModel::key_of_pass(const std::optional<DropoutKey>& given) const {
  if (given || config_.dropout == 0 || !is_training()) return given.value_or(DropoutKey{});
  return {static_cast<uint64_t>(nn::dropout_seed().item<int64_t>()), 0};
}

at::Tensor LanguageModel::hidden(const at::Tensor& tokens, const TokenInputs& inputs) {
  check_tokens(tokens);
  LONGSPAN_CHECK(!inputs.valid || !inputs.cu_seqlens, "language model: valid and cu_seqlens cannot both be given");
  if (inputs.valid) check_valid(*inputs.valid, tokens);
  if (inputs.cu_seqlens) check_cu_seqlens(*inputs.cu_seqlens, tokens);
  at::Tensor positions;
  if (embeds_positions()) positions = ranks(tokens.size(0), tokens.size(1), {}, inputs.valid, inputs.cu_seqlens);
  at::Tensor x = embed(tokens, positions);
  nn::AttentionInputs attention_inputs;
  attention_inputs.valid = inputs.valid;
  attention_inputs.cu_seqlens = inputs.cu_seqlens;
  const DropoutKey dropout = key_of_pass(inputs.dropout);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = recompute_ ? recomputed_forward(blocks_[i], x, attention_inputs, of_block(dropout, i))
                   : blocks_[i]->forward(x, attention_inputs, of_block(dropout, i));
  return norm_->forward(x);
}

at::Tensor LanguageModel::logits(const at::Tensor& hidden) { return at::linear(hidden, head_); }

at::Tensor LanguageModel::nll(const at::Tensor& hidden, const at::Tensor& targets, int64_t chunk) {
  check_tokens(targets);
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
  check_tokens(tokens);
  LONGSPAN_CHECK(state.layers.size() == blocks_.size(), "language model: the state has ", state.layers.size(),
                 " layers, the model ", blocks_.size());
  LONGSPAN_CHECK(state.batch() == tokens.size(0), "language model: the state has ", state.batch(),
                 " streams, the tokens ", tokens.size(0));
  if (valid) check_valid(*valid, tokens);
  at::Tensor positions;
  if (embeds_positions()) positions = ranks(tokens.size(0), tokens.size(1), state.positions, valid, {});
  at::Tensor x = embed(tokens, positions);
  const DropoutKey key = key_of_pass(dropout);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = recompute_ ? recomputed_extend(blocks_[i], state.layers[i], x, valid, of_block(key, i))
                   : blocks_[i]->extend(state.layers[i], x, valid, of_block(key, i));
  state.positions =
      state.positions + (valid ? valid->sum(1) : torch::full({tokens.size(0)}, tokens.size(1), torch::kLong));
  return norm_->forward(x);
}

at::Tensor LanguageModel::auxiliary_loss() const {
  at::Tensor sum;
  for (const auto& block : blocks_) {
    const at::Tensor loss = block->attention().auxiliary_loss();
    if (loss.defined()) sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

void LanguageModel::after_step() {
  for (const auto& block : blocks_) block->attention().after_step();
}

std::vector<ParameterGroup> LanguageModel::parameter_groups(double epe_lr_factor) const {
  std::vector<ParameterGroup> groups = {
      {"decay", {}, true, 1}, {"no_decay", {}, false, 1}, {"epe", {}, false, epe_lr_factor}};
  for (const auto& item : named_parameters()) {
    const at::Tensor& parameter = item.value();
    if (!parameter.requires_grad()) continue;
    const std::string name = item.key().substr(item.key().rfind('.') + 1);
    const bool epe = name == "position_table";
    const bool decay = parameter.dim() == 2 && !epe && !name.starts_with("basis") && item.key() != "positions";
    groups[epe ? 2 : decay ? 0 : 1].parameters.emplace_back(item.key(), parameter);
  }
  return groups;
}

int64_t LanguageModel::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

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

NamedTensors LanguageModel::weights() const {
  NamedTensors out;
  for (const auto& item : named_parameters()) out[item.key()] = item.value();
  for (const auto& item : named_buffers()) out[item.key()] = item.value();
  return out;
}

std::string LanguageModel::identity() const {
  Fingerprint both;
  both.add(to_json(config_).dump());
  both.add(fingerprint(weights()));
  return both.hex();
}

}  // namespace longspan::models
