// What stands on an encoder: one head for each kind of task.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"
#include "longspan/models/blocks.h"
#include "longspan/models/encoder_config.h"
#include "longspan/models/residual_dropout.h"

namespace longspan::models {

enum class HeadKind {
  masked_language,  ///< the tokens that a mask hides
  classification,   ///< one of the labels
  multi_label,      ///< any number of the labels
  question,         ///< the part of a context that answers a question
  choice,           ///< one of the candidates that come with a question
};

/// "masked_language", ... ; all of them in order.
std::string to_string(HeadKind kind);
HeadKind head_kind(const std::string& name);  ///< InputError with the nearest name
const std::vector<std::string>& head_kinds();

/// What a sequence is to the head of a classification.
enum class Pooling {
  first,  ///< its first token
  mean,   ///< the mean of its tokens
};

/// Which tokens see all and are seen by all, in an attention that has such tokens.
enum class GlobalTokens {
  attention,  ///< those that it chooses
  task,       ///< instead the first token of a sequence and those of the question and its candidates
};

struct HeadConfig {
  HeadKind kind = HeadKind::masked_language;
  Pooling pooling = Pooling::first;  ///< classification, multi_label
  GlobalTokens global_tokens = GlobalTokens::attention;
  int64_t answer_tokens = 64;            ///< question: length of the longest answer
  bool may_be_empty = false;             ///< question: a context need not have the answer, and then the answer is ""
  std::vector<std::string> labels = {};  ///< classification (at least 2), multi_label (at least 1): their names
};

/// Every field but `labels`.
const FieldTable<HeadConfig>& head_fields();
/// InputError for a value out of range, and for labels that are missing, too many, stand twice or have no use.
void validate(const HeadConfig& config);
Json to_json(const HeadConfig& config);
HeadConfig head_from_json(const Json& json);

/// Masked language model: norm(gelu(dense x)), then scores <., embedding row> + bias.
class MaskedLanguageHead : public torch::nn::Module {
 public:
  explicit MaskedLanguageHead(const EncoderConfig& config);
  /// x [T, E], embedding [V, E] -> [T, V].
  at::Tensor logits(const at::Tensor& x, const at::Tensor& embedding);
  /// Negative log-likelihood in nats of targets [T], without the tensor of all logits (chunked_nll.h).
  at::Tensor nll(const at::Tensor& x, const at::Tensor& embedding, const at::Tensor& targets, int64_t chunk = 0);

 private:
  at::Tensor features(const at::Tensor& x);

  torch::nn::Linear dense_{nullptr};
  std::shared_ptr<Norm> norm_;
  at::Tensor bias_;  ///< [V]
};

/// Sequences to scores of labels: dropout, dense, tanh, dropout, linear, as RoBERTa's.
class ClassificationHead : public torch::nn::Module {
 public:
  ClassificationHead(const EncoderConfig& config, const HeadConfig& head);
  /// x [S, E], one row a sequence -> [S, labels]. Dropout, in training mode, is that of sequence first_token + row.
  at::Tensor forward(const at::Tensor& x, const DropoutKey& dropout = {});

 private:
  double dropout_;
  torch::nn::Linear dense_{nullptr}, out_{nullptr};
};

/// Tokens to scores: of being the first and the last one of the answer, or of standing for the right candidate.
class TokenHead : public torch::nn::Module {
 public:
  TokenHead(const EncoderConfig& config, int64_t scores);
  /// x [T, E] -> [T, scores].
  at::Tensor forward(const at::Tensor& x) { return out_->forward(x); }

 private:
  torch::nn::Linear out_{nullptr};
};

/// Rows of sequences x [1, T, E] with borders cu [S + 1] (int64, CPU, no sequence empty) -> [S, E].
at::Tensor pooled(const at::Tensor& x, const at::Tensor& cu, Pooling pooling);

}  // namespace longspan::models
