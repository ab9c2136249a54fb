#include "longspan/train/train.h"

#include <torch/utils.h>

#include "longspan/train/adamw.h"
#include "longspan/train/autocast.h"
#include "longspan/train/distributed.h"
#include "longspan/train/memory.h"

namespace longspan::train {

Trainer::Trainer(std::shared_ptr<models::LanguageModel> model, const TokenFile& train, const TokenFile* valid,
                 TrainOptions options)
    : Trainer(std::move(model), TrainData{.train = &train, .valid = valid}, options) {}

Trainer::Trainer(std::shared_ptr<models::LanguageModel> model, const TrainData& data, TrainOptions options,
                 Peers* peers)
    : model_(std::move(model)), data_(data), options_(options), peers_(peers) {
  const int64_t processes = peers_ ? peers_->size() : 1;
  train::validate(options_, processes);
  check_data(data_, options_, model_->config());
  own_ = own_rows(options_, peers_ ? peers_->rank() : 0, processes);
  reader_ = make_step_reader(data_, options_, *model_, own_);
  begin();
}

Trainer::Trainer(std::shared_ptr<models::LanguageModel> model, std::unique_ptr<StepReader> rows, TrainOptions options)
    : model_(std::move(model)), options_(options), peers_(nullptr), reader_(std::move(rows)) {
  train::validate(options_);
  LONGSPAN_CHECK(options_.sequences == Sequences::windows && options_.valid_every == 0,
                 "train: rows that are made have neither sequences nor a validation");
  own_ = own_rows(options_, 0, 1);
  begin();
}

void Trainer::begin() {
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
