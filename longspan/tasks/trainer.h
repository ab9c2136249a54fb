// Training a model of a task: the loop of train/train.h, on examples instead of a stream of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longspan/models/encoder_model.h"
#include "longspan/tasks/batch.h"
#include "longspan/tasks/evaluate.h"
#include "longspan/tasks/examples.h"
#include "longspan/tasks/options.h"
#include "longspan/tasks/sampler.h"
#include "longspan/text/tokenizer.h"
#include "longspan/train/checkpoint.h"
#include "longspan/train/train.h"

namespace longspan::train {
class AdamW;
}

namespace longspan::tasks {

/// AdamW, schedule, clipping, autocast, checkpoints and observers are those of train::Trainer. Which examples a step
/// reads, what is hidden in them and what dropout of branches and heads drops depend on (seed, step, row) alone, dropout
/// inside an attention also on how `accumulation` divides the step; every reduction has a fixed order. So a run that was
/// stopped and resumed gives the same bits as one that was not (same threads, machine and build). Sequences of a step
/// are packed, not padded.
class TaskTrainer {
 public:
  /// The sets must outlive it; `valid` may be null. Labels of both have been numbered (number_labels). Every step seeds
  /// torch's default generators, from which dropout inside an attention draws. Throws InputError when options do not
  /// validate or name a metric that the task has not, a set has no example or is of another kind than the model, or a
  /// sequence is longer than the model's learned positions.
  TaskTrainer(std::shared_ptr<models::EncoderModel> model, const ExampleSet& train, const ExampleSet* valid,
              TaskOptions options);
  ~TaskTrainer();

  const TaskOptions& options() const { return options_; }
  models::EncoderModel& model() { return *model_; }
  int64_t steps_done() const { return step_; }
  bool done() const { return step_ >= options_.train.steps; }

  /// One optimizer step. `tokens` of the result are those of the sequences. NonFiniteError naming the step when loss or
  /// gradient is not finite; everything that a checkpoint holds, torch's generator apart, is then as before it.
  train::StepResult step();

  /// Loss and metrics of options().valid_examples examples of the validation set.
  train::ValidationResult validate();

  /// Steps until done or stopped; validates and checkpoints as train::Trainer::run() does, but that the best checkpoint
  /// is that of options().best_by. A NonFiniteError of step() leaves `<folder>/nonfinite` (train/nonfinite.h): of part
  /// i "batch.i.tokens", "batch.i.cu_seqlens" and "batch.i.examples", and the examples' records by file and line.
  /// Returns done().
  bool run(train::TrainObserver& observer, const std::string& folder = "", const Tokenizer* tokenizer = nullptr,
           const Json& extra = {});

  /// Writes one checkpoint into `folder` itself: `training.safetensors` and the model's files (encoder_files.h).
  /// config.json gets "task" and the members of `extra` besides.
  void save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra = {}) const;

  /// As of train::Trainer.
  std::vector<std::string> resume(const std::string& folder);

 private:
  models::NamedTensors tensors() const;
  /// What the step under way reads.
  std::vector<Batch> parts_of_step();
  /// step() of a run in a folder.
  train::StepResult step_or_dump(const std::string& folder, const Tokenizer& tokenizer, const Json& extra);
  train::ValidationScore score(const train::ValidationResult& result) const;
  std::vector<std::string> load(const std::string& checkpoint);
  double accumulate(const Batch& batch, int64_t first_row, int64_t first_sequence, int64_t first_token, double weight,
                    bool with_penalty);

  std::shared_ptr<models::EncoderModel> model_;
  const ExampleSet& train_;
  const ExampleSet* valid_;
  TaskOptions options_;
  bool bf16_ = false;
  ExampleSampler sampler_;
  std::string metric_, validated_on_;  ///< what the best checkpoint is found by, on what
  int64_t step_ = 0;
  std::optional<train::ValidationResult> validation_;  ///< the last one
  std::unique_ptr<train::AdamW> optimizer_;
};

/// Builds a model with its initial weights drawn from `seed`.
std::shared_ptr<models::EncoderModel> make_model(const models::EncoderConfig& encoder, const models::HeadConfig& head,
                                                 int64_t seed);

/// InputError when weights, gradients and moments of such a model have no room in the memory of this machine.
void check_fits(const models::EncoderConfig& config);

/// {"encoder", "head", "task": complete configurations} of the latest checkpoint of a folder whose header is whole.
/// InputError when there is none, or when its configuration is not that of its weights.
Json saved_configuration(const std::string& folder);

}  // namespace longspan::tasks
