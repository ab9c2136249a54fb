// The training loop: AdamW, a schedule, clipping, accumulation, validation, checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "longspan/data/token_file.h"
#include "longspan/models/language_model.h"
#include "longspan/models/tensor_files.h"
#include "longspan/text/tokenizer.h"
#include "longspan/train/options.h"
#include "longspan/train/step_reader.h"

namespace longspan::train {

class AdamW;
class Peers;

struct StepResult {
  int64_t step = 0;  ///< 1 for the first
  double loss = 0;   ///< mean nats per token, before the update, auxiliary losses apart; bits per token = loss / ln 2
  double grad_norm = 0;  ///< before clipping
  double learning_rate = 0;
  int64_t tokens = 0;  ///< targets of this step, in all processes
  double seconds = 0;  ///< of this step
};

struct ValidationResult {
  int64_t step = 0;
  double loss = 0;  ///< mean nats per token
  int64_t tokens = 0;
  double seconds = 0;
};

/// What a program wants to know while run() works.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepResult&) {}
  virtual void on_validation(const ValidationResult&) {}
  virtual void on_checkpoint(int64_t step) {}
  /// Asked after every step: true ends run() after a checkpoint.
  virtual bool should_stop() { return false; }
};

/// Trains `model` on the rows of a token file, see Sequences. Rows and dropout depend on (seed, step, row) alone and
/// every reduction has a fixed order, so a run that was stopped and resumed gives the same bits as one that was not
/// (same threads, machine and build), and one that works off its rows in more parts gives the same numbers but for the
/// rounding of the sums of the parts' gradients. Dropout inside an attention alone depends on the parts as well.
class Trainer {
 public:
  /// Every step seeds torch's default generators, from which dropout inside an attention draws. `peers`: the processes
  /// that train together with this one, each with its own Trainer of equal arguments; null: none. Throws InputError
  /// when options do not validate, batch is not a multiple of accumulation times processes, a vocabulary differs from
  /// the model's, or the data do not fit the options (make_step_reader).
  Trainer(std::shared_ptr<models::LanguageModel> model, const TrainData& data, TrainOptions options,
          Peers* peers = nullptr);
  /// Without documents; `valid` may be null.
  Trainer(std::shared_ptr<models::LanguageModel> model, const TokenFile& train, const TokenFile* valid,
          TrainOptions options);
  ~Trainer();

  const TrainOptions& options() const { return options_; }
  models::LanguageModel& model() { return *model_; }
  int64_t steps_done() const { return step_; }
  bool done() const { return step_ >= options_.steps; }

  /// One optimizer step. RunError naming the step when loss or gradient is not finite; the weights are then as before
  /// it.
  StepResult step();

  /// Mean loss over options().valid_blocks windows of the validation split, spread evenly, as many as it holds without
  /// overlap; a split shorter than a window is one window. Every window begins with an empty state; where training
  /// respects documents (has_borders), their borders divide it. RunError when the loss is not finite.
  ValidationResult validate();

  /// Steps until done or stopped; validates and checkpoints as options say and at the end. `folder` "" = no
  /// checkpoints, else `tokenizer` is needed; `extra` as for save(). The folder is created and tried before the first
  /// step (RunError). When nothing is left to do (a finished run was resumed), validates and saves once, because what
  /// interrupted that run may have done so between the files of its last checkpoint. Returns done().
  bool run(TrainObserver& observer, const std::string& folder = "", const Tokenizer* tokenizer = nullptr,
           const Json& extra = {});

  /// Writes `training.safetensors` (weights, moments, step, generator, configuration) and then the model's files, each
  /// file atomically. resume() and saved_configuration() read the first alone, so from its first appearance on an
  /// interruption at any moment leaves a folder that resumes; before, the folder holds nothing but what
  /// is_unfinished(). config.json gets the members of `extra` beside "model" and "train".
  void save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra = {}) const;

  /// Continues from a folder that save() wrote; the model must have the same configuration. Returns warnings for a
  /// person, one line each: another thread count, other options, other data. InputError when the file is damaged or of
  /// another model.
  std::vector<std::string> resume(const std::string& folder);

 private:
  models::NamedTensors tensors() const;
  double accumulate(const Rows& rows, double weight, bool with_penalty);
  double loss_of_parts(std::vector<double> parts) const;

  std::shared_ptr<models::LanguageModel> model_;
  TrainData data_;
  TrainOptions options_;
  Peers* peers_;
  Rows own_;  ///< the rows of a step that this process works off
  std::unique_ptr<StepReader> reader_;
  bool bf16_ = false;
  int64_t step_ = 0;
  std::unique_ptr<AdamW> optimizer_;
};

/// Whether a folder holds a run to go on with: its `training.safetensors` is there.
bool is_resumable(const std::string& folder);

/// {"model": complete configuration, "train": complete options} of the run in a folder, from `training.safetensors`
/// alone. InputError when it is missing or damaged, or its configuration is not that of its weights.
Json saved_configuration(const std::string& folder);

/// Builds a model with its initial weights drawn from `seed`.
std::shared_ptr<models::LanguageModel> make_model(const models::ModelConfig& config, int64_t seed);

}  // namespace longspan::train
