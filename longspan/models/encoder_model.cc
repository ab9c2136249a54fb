#include "longspan/models/encoder_model.h"

namespace longspan::models {

namespace {

template <class Head>
Head& needed(const std::shared_ptr<Head>& head, const HeadConfig& config, const char* what) {
  LONGSPAN_CHECK(head, "encoder model: a head for ", to_string(config.kind), " has no ", what);
  return *head;
}

}  // namespace

EncoderModel::EncoderModel(EncoderConfig encoder, HeadConfig head)
    : torch::nn::Module("EncoderModel"), head_(std::move(head)) {
  validate(head_);
  encoder_ = register_module("encoder", std::make_shared<Encoder>(std::move(encoder)));
  const EncoderConfig& config = encoder_->config();
  LONGSPAN_CHECK(head_.global_tokens == GlobalTokens::attention || encoder_->attention(0).properties().global_tokens,
                 "head: global_tokens = task needs an attention that has global tokens, got ", config.attention);
  switch (head_.kind) {
    case HeadKind::masked_language:
      masked_language_ = register_module("head", std::make_shared<MaskedLanguageHead>(config));
      break;
    case HeadKind::classification:
    case HeadKind::multi_label:
      classification_ = register_module("head", std::make_shared<ClassificationHead>(config, head_));
      break;
    case HeadKind::question:
      span_ = register_module("head", std::make_shared<TokenHead>(config, 2));
      break;
    case HeadKind::choice:
      choice_ = register_module("head", std::make_shared<TokenHead>(config, 1));
      break;
  }
}

at::Tensor EncoderModel::hidden(const SequencePack& pack, const std::optional<DropoutKey>& dropout) {
  return encoder_->forward(pack.tokens,
                           {.cu_seqlens = pack.cu_seqlens, .global_tokens = pack.global_tokens, .dropout = dropout},
                           pack.positions);
}

at::Tensor EncoderModel::masked_nll(const at::Tensor& hidden, const at::Tensor& places, const at::Tensor& targets,
                                    int64_t chunk) {
  return needed(masked_language_, head_, "masked tokens")
      .nll(hidden[0].index_select(0, places), encoder_->embedding(), targets, chunk);
}

at::Tensor EncoderModel::masked_logits(const at::Tensor& hidden, const at::Tensor& places) {
  return needed(masked_language_, head_, "masked tokens")
      .logits(hidden[0].index_select(0, places), encoder_->embedding());
}

at::Tensor EncoderModel::label_logits(const at::Tensor& hidden, const at::Tensor& cu_seqlens,
                                      const DropoutKey& dropout) {
  return needed(classification_, head_, "labels").forward(pooled(hidden, cu_seqlens, head_.pooling), dropout);
}

at::Tensor EncoderModel::span_logits(const at::Tensor& hidden) {
  return needed(span_, head_, "answers").forward(hidden[0]);
}

at::Tensor EncoderModel::choice_logits(const at::Tensor& hidden, const at::Tensor& places) {
  return needed(choice_, head_, "candidates").forward(hidden[0].index_select(0, places)).squeeze(1);
}

}  // namespace longspan::models
