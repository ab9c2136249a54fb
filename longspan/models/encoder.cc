#include "longspan/models/encoder.h"

#include <ATen/ops/zeros_like.h>
#include <torch/nn/init.h>

#include <cmath>

#include "longspan/models/blocks.h"
#include "longspan/models/positions.h"

namespace longspan::models {

namespace {

constexpr const char* kOwner = "encoder";

void check_positions(const EncoderConfig& config, const at::Tensor& positions, const at::Tensor& tokens) {
  LONGSPAN_CHECK(config.positions != Positions::rotary, kOwner,
                 ": positions cannot be given where they are rotary: the attention counts them itself");
  LONGSPAN_CHECK(
      positions.defined() && positions.scalar_type() == at::kLong && positions.sizes() == tokens.sizes(), kOwner,
      ": positions must be int64 ", tokens.sizes(), ", got ",
      positions.defined() ? str_cat(positions.scalar_type(), " ", positions.sizes()) : "an undefined tensor");
  const int64_t least = positions.numel() > 0 ? positions.min().item<int64_t>() : 0;
  LONGSPAN_CHECK(least >= 0, kOwner, ": positions must be at least 0, got ", least);
}

/// Parts of a model that dropout tells apart from its blocks.
constexpr uint64_t kEmbedding = 0x656D62;

}  // namespace

Encoder::Encoder(EncoderConfig config) : torch::nn::Module("Encoder"), config_(std::move(config)) {
  validate(config_);
  const SpecialTokens special = special_tokens(config_);
  config_.first_token = special.first;
  config_.separator_token = special.separator;
  config_.padding_token = special.padding;
  config_.mask_token = special.mask;

  const auto table = [&](const std::string& name, int64_t rows) {
    return register_parameter(name, torch::empty({rows, config_.width}));
  };
  embedding_.kind = config_.positions;
  embedding_.maximum = config_.max_positions;
  embedding_.offset = config_.position_offset;
  embedding_.tokens = table("embedding", config_.vocabulary);
  if (config_.positions == Positions::learned)
    embedding_.positions = table("positions", config_.max_positions + config_.position_offset);

  const bool post = config_.norm == NormPlace::post;
  const auto norm = [&] { return std::make_shared<Norm>(Shape::gpt2, config_.width); };
  if (post) embedding_norm_ = register_module("embedding_norm", norm());
  auto blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t i = 0; i < config_.layers; ++i) {
    blocks_.push_back(std::make_shared<Block>(block_options(config_, i)));
    blocks->push_back(blocks_.back());
  }
  if (!post) norm_ = register_module("norm", norm());
  config_.attention_options = blocks_.front()->attention().options();
  draw();
}

void Encoder::draw() {
  torch::NoGradGuard no_grad;
  for (auto& item : named_parameters()) {
    at::Tensor weight = item.value();
    const std::string& name = item.key();
    const bool is_projection = weight.dim() == 2 && name.ends_with(".weight");
    if (!is_projection && name != "embedding" && name != "positions") continue;
    weight.normal_(0, config_.deviation);
    const bool ends_branch = name.ends_with(".attention.out.weight") || name.ends_with(".feed_forward.down.weight");
    if (config_.norm == NormPlace::pre && ends_branch)
      weight.div_(std::sqrt(2.0 * static_cast<double>(config_.layers)));
  }
}

at::Tensor Encoder::forward(const at::Tensor& tokens, const TokenInputs& inputs,
                            const std::optional<at::Tensor>& given_positions) {
  check_tokens(kOwner, tokens, config_.vocabulary);
  check_masks(kOwner, inputs, tokens);
  if (given_positions) check_positions(config_, *given_positions, tokens);
  at::Tensor positions;
  if (embedding_.reads_positions())
    positions =
        given_positions ? *given_positions : ranks(tokens.size(0), tokens.size(1), {}, inputs.valid, inputs.cu_seqlens);
  at::Tensor x = embed(kOwner, embedding_, tokens, positions);
  const bool drops = config_.dropout > 0 && is_training();
  const DropoutKey key = key_of_pass(inputs.dropout, drops);
  if (embedding_norm_) x = embedding_norm_->forward(x);
  if (drops) x = with_dropout(x, config_.dropout, key_of_part(key, kEmbedding));

  const nn::AttentionInputs given = attention_inputs(inputs);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = recompute_ ? recomputed_forward(blocks_[i], x, given, key_of_part(key, i))
                   : blocks_[i]->forward(x, given, key_of_part(key, i));
  return norm_ ? norm_->forward(x) : x;
}

void Encoder::after_step() { models::after_step(blocks_); }

at::Tensor Encoder::auxiliary_loss() const { return models::auxiliary_loss(blocks_); }

nn::AttentionCost Encoder::attention_cost(int64_t n) const {
  nn::AttentionCost total;
  for (const auto& block : blocks_) {
    const nn::AttentionCost cost = block->attention().cost(n, n);
    total.flops += cost.flops;
    total.bytes += cost.bytes;
  }
  return total;
}

nn::Attention& Encoder::attention(int64_t layer) {
  LONGSPAN_CHECK(layer >= 0 && layer < config_.layers, "encoder: layer must be from 0 to ", config_.layers - 1,
                 ", got ", layer);
  return blocks_[static_cast<std::size_t>(layer)]->attention();
}

}  // namespace longspan::models
