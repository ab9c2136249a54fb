#include "longspan/tasks/trainer.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "longspan/base/rng.h"
#include "longspan/io/fingerprint.h"
#include "longspan/tasks/batch.h"
#include "longspan/tasks/losses.h"
#include "longspan/train/adamw.h"
#include "longspan/train/autocast.h"
#include "longspan/train/memory.h"
#include "longspan/train/sums.h"

namespace longspan::tasks {

namespace {

/// Keep the streams of dropout apart from those of other users of the same seed ("drop", "attn" and "head" in ASCII).
constexpr uint64_t kResidualDropout = 0x64726F70;
constexpr uint64_t kAttentionDropout = 0x6174746E;
constexpr uint64_t kHeadDropout = 0x68656164;

/// As the estimates of train/memory.h know a model.
models::ModelConfig sizes_of(const models::EncoderConfig& config) {
  models::ModelConfig sizes;
  sizes.layers = config.layers;
  sizes.width = config.width;
  sizes.heads = config.heads;
  sizes.feed_forward = config.feed_forward;
  sizes.vocabulary = config.vocabulary;
  return sizes;
}

void check_examples(const char* name, const ExampleSet& set, const models::EncoderModel& model) {
  const models::EncoderConfig& config = model.encoder_config();
  LONGSPAN_CHECK(set.size() > 0, "task: ", name, " has no example");
  LONGSPAN_CHECK(set.kind == model.head_config().kind, "task: ", name, " is for ", to_string(set.kind),
                 ", the model for ", to_string(model.head_config().kind));
  check_labels(set, name);
  if (config.positions != models::Positions::learned) return;
  for (const Example& example : set.examples)
    for (const Sequence& window : example.windows)
      LONGSPAN_CHECK(static_cast<int64_t>(window.tokens.size()) <= config.max_positions, "task: ", name,
                     " has a sequence of ", window.tokens.size(), " tokens, but encoder.max_positions is ",
                     config.max_positions);
}

/// Two validations are compared only where they measured the same.
std::string identity_of(const ExampleSet& set, const TaskOptions& options, const std::string& metric) {
  Fingerprint fingerprint;
  const auto add = [&](const auto& values) { fingerprint.add(values.data(), values.size() * sizeof(values[0])); };
  for (const Example& example : set.examples) {
    add(example.labels);
    for (const Sequence& window : example.windows) {
      add(window.tokens);
      add(window.candidates);
      for (const HeldAnswer& answer : window.answers) fingerprint.add(&answer, sizeof(answer));
    }
  }
  std::string out = str_cat(metric.empty() ? "loss" : metric, " of ", set.size(), " examples ", fingerprint.hex());
  if (options.valid_examples > 0) out += str_cat(", ", options.valid_examples, " of them");
  if (set.kind == models::HeadKind::masked_language)
    for (const auto& [name, value] : masking_fields().values(options.masking))
      out += str_cat(", ", name, " ", longspan::to_json(value).dump());
  if (set.kind == models::HeadKind::question && options.windows.learn_answers == LearnAnswers::all)
    out += ", all answers";
  return out;
}

}  // namespace

TaskTrainer::TaskTrainer(std::shared_ptr<models::EncoderModel> model, const ExampleSet& train, const ExampleSet* valid,
                         TaskOptions options)
    : model_(std::move(model)),
      train_(train),
      valid_(valid),
      options_(options),
      sampler_(std::max<int64_t>(train.size(), 1), std::max<int64_t>(options.train.batch, 1),
               static_cast<uint64_t>(options.train.seed)) {
  tasks::validate(options_);
  check_examples("the training data", train_, *model_);
  if (valid_) check_examples("the validation data", *valid_, *model_);
  metric_ = metric_to_go_by(options_.best_by, model_->head_config().kind);
  if (valid_) validated_on_ = identity_of(*valid_, options_, metric_);
  const train::TrainOptions& general = options_.train;
  LONGSPAN_CHECK(valid_ || general.valid_every == 0, "task: valid_every is ", general.valid_every,
                 ", but there are no validation data to measure");
  bf16_ = general.autocast == train::Autocast::bf16 ||
          (general.autocast == train::Autocast::automatic && train::fast_bfloat16());
  optimizer_ = std::make_unique<train::AdamW>(models::parameter_groups(*model_, general.epe_lr_factor), general);
  model_->recompute_blocks(
      train::recomputes(general.recompute, sizes_of(model_->encoder_config()), train::tokens_at_once(general)));
  model_->train();
}

TaskTrainer::~TaskTrainer() = default;

/// Forward and backward of a part of the step under way, each of whose losses has this weight; returns their sum. A sum
/// that is not finite leaves the gradients alone.
double TaskTrainer::accumulate(const Batch& batch, int64_t first_row, int64_t first_sequence, int64_t first_token,
                               double weight, bool with_penalty) {
  const auto seed = static_cast<uint64_t>(options_.train.seed), step = static_cast<uint64_t>(step_);
  torch::manual_seed(stream_of({seed, kAttentionDropout, step, static_cast<uint64_t>(first_row)}));
  at::Tensor loss;
  {
    train::AutocastGuard autocast(bf16_);
    const at::Tensor hidden =
        model_->hidden(batch.pack, models::DropoutKey{stream_of({seed, kResidualDropout, step}), first_token});
    loss = losses(*model_, batch, hidden, stream_of({seed, kHeadDropout, step}), first_sequence,
                  options_.train.loss_chunk);
  }
  const double sum = train::ordered_sum(loss);
  if (!std::isfinite(sum)) return sum;
  std::vector<at::Tensor> roots, gradients;
  if (loss.requires_grad() && loss.numel() > 0) {
    roots.push_back(loss);
    gradients.push_back(torch::full_like(loss, weight));
  }
  if (const at::Tensor penalty = with_penalty ? model_->auxiliary_loss() : at::Tensor(); penalty.defined()) {
    roots.push_back(penalty);
    gradients.push_back(torch::ones_like(penalty));
  }
  if (!roots.empty()) torch::autograd::backward(roots, gradients);
  return sum;
}

std::vector<Batch> TaskTrainer::parts_of_step() {
  const train::TrainOptions& general = options_.train;
  const std::vector<int64_t> rows = sampler_.rows(step_);
  const int64_t part_rows = general.batch / general.accumulation;
  std::vector<Batch> parts;
  for (int64_t first = 0; first < general.batch; first += part_rows)
    parts.push_back(make_batch(
        train_, std::span(rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(part_rows)),
        model_->head_config(), model_->encoder_config(),
        {options_.masking, options_.windows.train_windows, options_.windows.learn_answers},
        {static_cast<uint64_t>(general.seed), static_cast<uint64_t>(step_) + 1, static_cast<uint64_t>(first)}));
  return parts;
}

train::StepResult TaskTrainer::step() {
  const auto start = std::chrono::steady_clock::now();
  const train::TrainOptions& general = options_.train;
  train::StepResult result;
  result.step = step_ + 1;
  result.learning_rate = train::learning_rate(general, result.step);

  // All parts first: what one loss weighs follows from how many the whole step has.
  const int64_t part_rows = general.batch / general.accumulation;
  const std::vector<Batch> parts = parts_of_step();
  int64_t targets = 0;
  for (const Batch& part : parts) targets += part.targets_in_loss;
  const double weight = 1 / static_cast<double>(std::max<int64_t>(targets, 1));
  double sum = 0;
  int64_t sequences = 0;
  for (std::size_t part = 0; part < parts.size() && std::isfinite(sum); ++part) {
    sum += accumulate(parts[part], static_cast<int64_t>(part) * part_rows, sequences, result.tokens, weight, part == 0);
    sequences += parts[part].sequences();
    result.tokens += parts[part].pack.tokens.size(1);
  }
  result.loss = sum * weight;
  if (!std::isfinite(result.loss)) {
    optimizer_->clear_gradients();
    throw train::NonFiniteError(str_cat("task: the loss is not finite at step ", result.step));
  }
  result.grad_norm = optimizer_->gradient_norm();
  if (!std::isfinite(result.grad_norm)) {
    optimizer_->clear_gradients();
    throw train::NonFiniteError(str_cat("task: the gradient is not finite at step ", result.step));
  }
  optimizer_->step(result.step, result.learning_rate, result.grad_norm);
  model_->after_step();
  step_ = result.step;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

train::ValidationResult TaskTrainer::validate() {
  LONGSPAN_CHECK(valid_, "task: there are no validation data to measure");
  EvaluateOptions options;
  options.masking = options_.masking;
  options.seed = static_cast<uint64_t>(options_.train.seed);
  options.examples = options_.valid_examples;
  options.autocast = bf16_;
  options.learn_answers = options_.windows.learn_answers;
  const Evaluation evaluation = evaluate(*model_, *valid_, options);
  train::ValidationResult result;
  result.step = step_;
  result.loss = evaluation.loss;
  result.tokens = evaluation.targets;
  result.seconds = evaluation.seconds;
  result.metrics = evaluation.metrics;
  validation_ = result;
  return result;
}

std::shared_ptr<models::EncoderModel> make_model(const models::EncoderConfig& encoder, const models::HeadConfig& head,
                                                 int64_t seed) {
  torch::manual_seed(static_cast<uint64_t>(seed));
  return std::make_shared<models::EncoderModel>(encoder, head);
}

void check_fits(const models::EncoderConfig& config) { train::check_fits(sizes_of(config)); }

}  // namespace longspan::tasks
