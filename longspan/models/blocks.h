// The pieces of a language model around the attention.
#pragma once

#include <optional>
#include <string>

#include "longspan/models/config.h"
#include "longspan/models/residual_dropout.h"
#include "longspan/nn/attention.h"

namespace longspan::models {

/// LayerNorm (weight and bias) or RMSNorm (weight), eps 1e-5.
class Norm : public torch::nn::Module {
 public:
  Norm(Shape shape, int64_t width);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
};

/// gpt2: down(gelu(up(x))); llama: down(silu(gate(x)) * up(x)).
class FeedForward : public torch::nn::Module {
 public:
  explicit FeedForward(const ModelConfig& config);
  at::Tensor forward(const at::Tensor& x);

 private:
  torch::nn::Linear up_{nullptr}, gate_{nullptr}, down_{nullptr};
};

/// What a model of this configuration asks of its attentions.
nn::AttentionSizes attention_sizes(const ModelConfig& config);

/// x + attention(norm(x)), then x + feed_forward(norm(x)); in training mode with dropout on both branches, whose key is
/// that of this block alone.
class Block : public torch::nn::Module {
 public:
  explicit Block(const ModelConfig& config);

  at::Tensor forward(const at::Tensor& x, const nn::AttentionInputs& inputs, const DropoutKey& dropout);
  at::Tensor extend(nn::State& state, const at::Tensor& x, const std::optional<at::Tensor>& valid,
                    const DropoutKey& dropout);

  nn::Attention& attention() { return *attention_; }
  const nn::Attention& attention() const { return *attention_; }

 private:
  at::Tensor add_branches(const at::Tensor& x, const at::Tensor& attention, const DropoutKey& dropout);

  double dropout_;
  std::shared_ptr<Norm> attention_norm_, feed_forward_norm_;
  nn::AttentionPtr attention_;
  std::shared_ptr<FeedForward> feed_forward_;
};

}  // namespace longspan::models
