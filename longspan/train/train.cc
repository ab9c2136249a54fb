#include "longspan/train/train.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <cmath>

#include "longspan/train/adamw.h"
#include "longspan/train/autocast.h"
#include "longspan/train/evaluation_mode.h"
#include "longspan/train/sums.h"

namespace longspan::train {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void check_vocabulary(const TokenFile& tokens, const models::LanguageModel& model) {
  LONGSPAN_CHECK(tokens.vocabulary() == model.config().vocabulary, tokens.path(), ": the data have a vocabulary of ",
                 tokens.vocabulary(), ", the model ", model.config().vocabulary);
}

}  // namespace

Trainer::Trainer(std::shared_ptr<models::LanguageModel> model, const TokenFile& train, const TokenFile* valid,
                 TrainOptions options)
    : model_(std::move(model)),
      train_(train),
      valid_(valid),
      options_(options),
      sampler_(train, options.length, static_cast<uint64_t>(options.seed)) {
  train_fields().validate(options_);
  check_vocabulary(train_, *model_);
  if (valid_) check_vocabulary(*valid_, *model_);
  bf16_ = options_.autocast == Autocast::bf16 || (options_.autocast == Autocast::automatic && fast_bfloat16());
  optimizer_ = std::make_unique<AdamW>(*model_, options_);
  torch::manual_seed(options_.seed);
  model_->train();
}

Trainer::~Trainer() = default;

StepResult Trainer::step() {
  const auto start = Clock::now();
  StepResult result;
  result.step = step_ + 1;
  result.tokens = options_.batch * options_.length;
  result.learning_rate = learning_rate(options_, result.step);

  at::Tensor tokens = torch::empty({options_.batch, sampler_.window()}, torch::kLong);
  sampler_.fill(tokens.mutable_data_ptr<int64_t>(), step_, options_.batch);
  batch_ = {tokens};
  at::Tensor nll;
  {
    AutocastGuard autocast(bf16_);
    nll = model_->nll(tokens);
  }
  // The mean's gradient is the same number everywhere, so the sum itself stays out of the graph.
  result.loss = ordered_sum(nll) / static_cast<double>(result.tokens);
  if (!std::isfinite(result.loss)) throw NonFiniteError(str_cat("train: the loss is not finite at step ", result.step));
  std::vector<at::Tensor> roots = {nll}, gradients = {torch::full_like(nll, 1 / static_cast<double>(result.tokens))};
  if (const at::Tensor penalty = model_->auxiliary_loss(); penalty.defined()) {
    roots.push_back(penalty);
    gradients.push_back(torch::ones_like(penalty));
  }
  torch::autograd::backward(roots, gradients);

  result.grad_norm = optimizer_->gradient_norm();
  if (!std::isfinite(result.grad_norm)) {
    optimizer_->clear_gradients();
    throw NonFiniteError(str_cat("train: the gradient is not finite at step ", result.step));
  }
  optimizer_->step(result.step, result.learning_rate, result.grad_norm);
  model_->after_step();
  step_ = result.step;
  result.seconds = seconds_since(start);
  return result;
}

ValidationResult Trainer::validate() {
  LONGSPAN_CHECK(valid_ && valid_->size() >= 2, "train: there is no validation split to measure");
  const auto start = Clock::now();
  const int64_t length = std::min(options_.length, valid_->size() - 1);
  const int64_t blocks = std::min(options_.valid_blocks, (valid_->size() - 1) / length);
  const int64_t stride = blocks > 1 ? (valid_->size() - 1 - length) / (blocks - 1) : 0;

  torch::NoGradGuard no_grad;
  EvaluationMode evaluation(*model_);
  AutocastGuard autocast(bf16_);
  double total = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    at::Tensor tokens = torch::empty({1, length + 1}, torch::kLong);
    valid_->copy_to(tokens.mutable_data_ptr<int64_t>(), block * stride, length + 1);
    total += ordered_sum(model_->nll(tokens));
  }
  ValidationResult result;
  result.step = step_;
  result.tokens = blocks * length;
  result.loss = total / static_cast<double>(result.tokens);
  if (!std::isfinite(result.loss))
    throw NonFiniteError(str_cat("train: the validation loss is not finite at step ", step_));
  result.seconds = seconds_since(start);
  validation_ = result;
  return result;
}

std::shared_ptr<models::LanguageModel> make_model(const models::ModelConfig& config, int64_t seed) {
  torch::manual_seed(seed);
  return std::make_shared<models::LanguageModel>(config);
}

}  // namespace longspan::train
