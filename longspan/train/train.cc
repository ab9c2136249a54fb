#include "longspan/train/train.h"

#include <torch/utils.h>

#include "longspan/train/adamw.h"
#include "longspan/train/autocast.h"
#include "longspan/train/distributed.h"
#include "longspan/train/memory.h"

namespace longspan::train {

namespace {

void check_vocabulary(const TokenFile& tokens, const models::LanguageModel& model) {
  LONGSPAN_CHECK(tokens.vocabulary() == model.config().vocabulary, tokens.path(), ": the data have a vocabulary of ",
                 tokens.vocabulary(), ", the model ", model.config().vocabulary);
}

/// Every process works off as many rows, and those of a process follow each other.
Rows own_rows(const TrainOptions& options, const Peers* peers) {
  const int64_t count = options.batch / (peers ? peers->size() : 1);
  return {peers ? peers->rank() * count : 0, count};
}

}  // namespace

Trainer::Trainer(std::shared_ptr<models::LanguageModel> model, const TokenFile& train, const TokenFile* valid,
                 TrainOptions options)
    : Trainer(std::move(model), TrainData{.train = &train, .valid = valid}, options) {}

Trainer::Trainer(std::shared_ptr<models::LanguageModel> model, const TrainData& data, TrainOptions options,
                 Peers* peers)
    : model_(std::move(model)), data_(data), options_(options), peers_(peers) {
  train::validate(options_, peers_ ? peers_->size() : 1);
  check_vocabulary(*data_.train, *model_);
  if (data_.valid) check_vocabulary(*data_.valid, *model_);
  LONGSPAN_CHECK(data_.valid || options_.valid_every == 0, "train: valid_every is ", options_.valid_every,
                 ", but there is no validation split to measure");
  own_ = own_rows(options_, peers_);
  reader_ = make_step_reader(data_, options_, *model_, own_);
  LONGSPAN_CHECK(!has_borders(options_) || !data_.valid || data_.valid_documents, data_.valid->path(),
                 ": the borders of its documents are needed for validation on documents");
  bf16_ = options_.autocast == Autocast::bf16 || (options_.autocast == Autocast::automatic && fast_bfloat16());
  optimizer_ = std::make_unique<AdamW>(*model_, options_);
  model_->recompute_blocks(
      recomputes(options_.recompute, model_->config(), tokens_at_once(options_, peers_ ? peers_->size() : 1)));
  model_->train();
}

Trainer::~Trainer() = default;

bool Trainer::writes() const { return !peers_ || peers_->rank() == 0; }

std::shared_ptr<models::LanguageModel> make_model(const models::ModelConfig& config, int64_t seed) {
  torch::manual_seed(seed);
  return std::make_shared<models::LanguageModel>(config);
}

}  // namespace longspan::train
