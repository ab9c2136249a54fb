// An encoder with the head of one kind of task.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "longspan/models/encoder.h"
#include "longspan/models/encoder_heads.h"
#include "longspan/models/module_parameters.h"

namespace longspan::models {

/// Sequences of a step or of a prediction, one behind the other.
struct SequencePack {
  at::Tensor tokens;                             ///< [1, T] int64
  at::Tensor cu_seqlens;                         ///< [S + 1] int64; no sequence is empty
  std::optional<at::Tensor> global_tokens = {};  ///< [1, T] bool, see GlobalTokens
  std::optional<at::Tensor> positions = {};      ///< [1, T] int64, instead of ranks (Encoder::forward)
};

class EncoderModel : public torch::nn::Module {
 public:
  /// Throws InputError when either does not validate, and for GlobalTokens::task with an attention that has none.
  EncoderModel(EncoderConfig encoder, HeadConfig head);

  Encoder& encoder() { return *encoder_; }
  const EncoderConfig& encoder_config() const { return encoder_->config(); }
  const HeadConfig& head_config() const { return head_; }

  /// Hidden states of a pack [1, T, E].
  at::Tensor hidden(const SequencePack& pack, const std::optional<DropoutKey>& dropout = std::nullopt);

  /// masked_language: nll in nats [P] of `targets` [P] at `places` [P] of the pack's rows; `chunk` as chunked_nll().
  at::Tensor masked_nll(const at::Tensor& hidden, const at::Tensor& places, const at::Tensor& targets,
                        int64_t chunk = 0);
  /// masked_language: scores of all tokens at `places`, [P, V].
  at::Tensor masked_logits(const at::Tensor& hidden, const at::Tensor& places);
  /// classification, multi_label: scores of the labels, [S, labels]. `dropout`: its first_token is the number of the
  /// first sequence.
  at::Tensor label_logits(const at::Tensor& hidden, const at::Tensor& cu_seqlens, const DropoutKey& dropout = {});
  /// question: scores of every token as the first and as the last one of the answer, [T, 2].
  at::Tensor span_logits(const at::Tensor& hidden);
  /// choice: scores of the tokens at `places` [P] of the pack's rows, each of which stands for a candidate, [P].
  at::Tensor choice_logits(const at::Tensor& hidden, const at::Tensor& places);

  /// As of LanguageModel.
  void recompute_blocks(bool on) { encoder_->recompute_blocks(on); }
  void after_step() { encoder_->after_step(); }
  at::Tensor auxiliary_loss() const { return encoder_->auxiliary_loss(); }
  NamedTensors weights() const { return weights_of(*this); }
  int64_t parameter_count() const { return models::parameter_count(*this); }

 private:
  HeadConfig head_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<MaskedLanguageHead> masked_language_;
  std::shared_ptr<ClassificationHead> classification_;
  std::shared_ptr<TokenHead> span_, choice_;
};

}  // namespace longspan::models
