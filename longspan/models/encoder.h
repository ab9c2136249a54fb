// A bidirectional encoder over any registered noncausal attention.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "longspan/models/encoder_config.h"
#include "longspan/models/token_inputs.h"
#include "longspan/nn/attention.h"

namespace longspan::models {

class Block;
class Norm;

/// Embedding (post: normed and with dropout), blocks, and with NormPlace::pre a final norm.
///
/// Initial values, drawn from torch's default generator: every table and matrix N(0, deviation^2), biases 0, norms 1;
/// what an attention has besides its projections as it defines itself; with NormPlace::pre the two projections that end
/// a branch are divided by sqrt(2 layers).
class Encoder : public torch::nn::Module {
 public:
  /// Throws InputError when `config` does not validate.
  explicit Encoder(EncoderConfig config);

  /// With every attention option and the special tokens written out.
  const EncoderConfig& config() const { return config_; }

  /// tokens [B, N] int64, padded (`valid`) or one pack (`cu_seqlens`) -> [B, N, E]. The results at padded places mean
  /// nothing, and nothing real depends on them. `positions` [B, N] int64 from 0 on: those that are added to the
  /// embedding, instead of the ranks of the tokens in their sequences; not with rotary ones, which an attention counts
  /// itself. InputError for a token outside the vocabulary, masks or positions that do not fit, or a position beyond
  /// max_positions where they are learned.
  at::Tensor forward(const at::Tensor& tokens, const TokenInputs& inputs = {},
                     const std::optional<at::Tensor>& positions = std::nullopt);

  /// As of LanguageModel.
  void recompute_blocks(bool on) { recompute_ = on; }
  void after_step();
  at::Tensor auxiliary_loss() const;
  /// Cost of all layers' attention operators for one sequence of n tokens.
  nn::AttentionCost attention_cost(int64_t n) const;

  /// [V, E], shared by the head of a masked language model.
  const at::Tensor& embedding() const { return embedding_.tokens; }
  /// Of layer `layer`, to look at.
  nn::Attention& attention(int64_t layer);

 private:
  void draw();

  EncoderConfig config_;
  bool recompute_ = false;
  EmbeddingTables embedding_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Norm> embedding_norm_, norm_;  ///< post, pre
};

}  // namespace longspan::models
