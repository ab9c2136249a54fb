// A decoder-only language model over any registered attention.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longspan/models/config.h"
#include "longspan/models/model_state.h"
#include "longspan/models/module_parameters.h"
#include "longspan/models/residual_dropout.h"
#include "longspan/models/tensor_files.h"
#include "longspan/models/token_inputs.h"
#include "longspan/nn/attention.h"

namespace longspan::models {

class Block;
class Norm;

/// Embedding, blocks `h += attention(norm(h)); h += feed_forward(norm(h))`, final norm, head.
///
/// Initial values: embedding N(0, 0.02^2) (sinusoidal: N(0, 1/E)); feed-forward Xavier-uniform; the two projections
/// that end a residual branch divided by sqrt(2 layers); biases 0; attentions as they define themselves. Drawn from
/// torch's default generator.
class LanguageModel : public torch::nn::Module {
 public:
  /// Throws InputError when `config` does not validate.
  explicit LanguageModel(ModelConfig config);

  const ModelConfig& config() const { return config_; }

  /// tokens [B, N] int64 -> hidden states after the final norm [B, N, E]. InputError for a token outside the
  /// vocabulary, a mask that does not fit the tokens, or more valid tokens than learned positions.
  at::Tensor hidden(const at::Tensor& tokens, const TokenInputs& inputs = {});

  /// hidden [..., E] -> [..., V].
  at::Tensor logits(const at::Tensor& hidden);

  /// Negative log-likelihood in nats of every target: hidden [B, N, E], targets [B, N] -> [B, N]. See chunked_nll.h:
  /// [B, N, V] never exists for long N. The head's product runs in the parameters' dtype, also under autocast.
  at::Tensor nll(const at::Tensor& hidden, const at::Tensor& targets, int64_t chunk = 0);

  /// tokens [B, N + 1]: predicts tokens[:, 1:] from tokens[:, :N].
  at::Tensor nll(const at::Tensor& tokens, int64_t chunk = 0);

  /// From now on backward passes keep only what enters each block and form the rest again (models/recompute.h): memory
  /// of one block instead of all, one more forward pass of time, the same bits.
  void recompute_blocks(bool on) { recompute_ = on; }

  /// The state before the first token of `batch` streams.
  ModelState begin(int64_t batch) const;

  /// Consumes tokens [B, N], returns their hidden states; equals hidden() over the whole stream, whatever the cuts.
  /// Differentiable in the parameters and in the state that came in.
  at::Tensor extend(ModelState& state, const at::Tensor& tokens, const std::optional<at::Tensor>& valid = std::nullopt,
                    const std::optional<DropoutKey>& dropout = std::nullopt);

  /// To be called after every optimizer step (retraction of constrained parameters).
  void after_step();

  /// Sum of the attentions' auxiliary losses, to be added to the loss in training; undefined when there are none.
  at::Tensor auxiliary_loss() const;

  /// See module_parameters.h.
  std::vector<ParameterGroup> parameter_groups(double epe_lr_factor = 10) const;

  /// Numbers in all parameters; the tied head counts once.
  int64_t parameter_count() const;

  /// Changes a part of every layer's attention for an experiment, such as ("memory", "zero"), see
  /// nn::Attention::ablations(); "none" restores.
  void ablate(const std::string& part, const std::string& way);

  /// Cost of all layers' attention operators for one stream of n tokens.
  nn::AttentionCost attention_cost(int64_t n) const;

  /// See weights_of().
  NamedTensors weights() const;

  /// Names configuration and weights: 32 hexadecimal digits. Reads every weight.
  std::string identity() const;

 private:
  at::Tensor embed(const at::Tensor& tokens, const at::Tensor& start, const TokenInputs& inputs) const;
  bool drops() const { return config_.dropout > 0 && is_training(); }

  ModelConfig config_;
  bool recompute_ = false;
  EmbeddingTables embedding_;
  at::Tensor head_;  // [V, E]; the embedding when tied
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Norm> norm_;
};

}  // namespace longspan::models
