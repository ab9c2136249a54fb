// The pieces of a model around the attention.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "longspan/models/config.h"
#include "longspan/models/encoder_config.h"
#include "longspan/models/residual_dropout.h"
#include "longspan/nn/attention.h"

namespace longspan::models {

/// What every block of a model is made of.
struct BlockOptions {
  nn::Pattern pattern = nn::Pattern::causal_self;
  std::string attention;
  FieldValues attention_options;
  nn::AttentionSizes sizes;
  int64_t feed_forward = 0;  ///< inner width of the feed-forward part
  int64_t layers = 1;        ///< of the whole model
  Shape shape = Shape::gpt2;
  NormPlace norm = NormPlace::pre;
  double dropout = 0;  ///< on the output of both branches, in training mode
};

/// Of the block with this number.
BlockOptions block_options(const ModelConfig& config, int64_t layer = 0);
BlockOptions block_options(const EncoderConfig& config, int64_t layer = 0);

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
  explicit FeedForward(const BlockOptions& options);
  at::Tensor forward(const at::Tensor& x);

 private:
  torch::nn::Linear up_{nullptr}, gate_{nullptr}, down_{nullptr};
};

/// x + attention(norm(x)), then x + feed_forward(norm(x)), or with NormPlace::post norm(x + attention(x)), then norm(x
/// + feed_forward(x)); in training mode with dropout on both branches, whose key is that of this block alone.
///
/// Initial values: Xavier-uniform, attentions as they define themselves; with NormPlace::pre the projection that ends a
/// branch divided by sqrt(2 layers).
class Block : public torch::nn::Module {
 public:
  explicit Block(const BlockOptions& options);

  at::Tensor forward(const at::Tensor& x, const nn::AttentionInputs& inputs, const DropoutKey& dropout);
  at::Tensor extend(nn::State& state, const at::Tensor& x, const std::optional<at::Tensor>& valid,
                    const DropoutKey& dropout);

  nn::Attention& attention() { return *attention_; }
  const nn::Attention& attention() const { return *attention_; }

 private:
  at::Tensor attention_input(const at::Tensor& x) const;
  at::Tensor add_branches(const at::Tensor& x, const at::Tensor& attention, const DropoutKey& dropout);

  bool post_;
  double dropout_;
  std::shared_ptr<Norm> attention_norm_, feed_forward_norm_;
  nn::AttentionPtr attention_;
  std::shared_ptr<FeedForward> feed_forward_;
};

/// Sum of what the attentions add to the loss; undefined where none adds anything.
at::Tensor auxiliary_loss(const std::vector<std::shared_ptr<Block>>& blocks);
/// Lets the attentions restore their constraints.
void after_step(const std::vector<std::shared_ptr<Block>>& blocks);

/// block->forward() whose insides the backward pass forms again (recompute.h).
at::Tensor recomputed_forward(const std::shared_ptr<Block>& block, const at::Tensor& x,
                              const nn::AttentionInputs& inputs, const DropoutKey& dropout);

}  // namespace longspan::models
