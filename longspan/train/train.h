// The training loop: AdamW, a schedule, clipping, accumulation, validation, checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longspan/base/check.h"
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
  double loss = 0;  ///< mean nats per target
  int64_t tokens = 0;
  double seconds = 0;
  int64_t source_bytes = 0;  ///< of text behind the targets; 0: one a token
  /// Of a task (longspan/tasks), whose targets need not be text: what it is measured by, beside the loss.
  std::vector<std::pair<std::string, double>> metrics = {};
};

/// A loss or a gradient that is not finite.
class NonFiniteError : public RunError {
 public:
  using RunError::RunError;
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
  /// Rows that are made and not read from a split: one process, no validation. InputError when options ask for one, or
  /// for other `sequences` than windows.
  Trainer(std::shared_ptr<models::LanguageModel> model, std::unique_ptr<StepReader> rows, TrainOptions options);
  ~Trainer();

  const TrainOptions& options() const { return options_; }
  models::LanguageModel& model() { return *model_; }
  int64_t steps_done() const { return step_; }
  bool done() const { return step_ >= options_.steps; }

  /// One optimizer step. NonFiniteError naming the step when loss or gradient is not finite; everything that a
  /// checkpoint holds, torch's generator apart, is then as before it.
  StepResult step();

  /// Mean loss over options().valid_blocks windows of the validation split, spread evenly, as many as it holds without
  /// overlap; a split shorter than a window is one window. Every window begins with an empty state; where training
  /// respects documents (has_borders), their borders divide it. NonFiniteError when the loss is not finite.
  ValidationResult validate();

  /// Steps until done or stopped; validates and checkpoints as options say and at the end, and whenever the validation
  /// loss is the lowest so far (keep_best > 0). A NonFiniteError of step() leaves `<folder>/nonfinite` (nonfinite.h);
  /// one of validate() leaves the checkpoints as they were. `folder` ""
  /// = no checkpoints, else `tokenizer` is needed; `extra` as for save(). The folder is created and tried before the
  /// first step (RunError); see checkpoint_store.h for what it holds: killed at any moment it resumes. When nothing is
  /// left to do (a finished run was resumed), validates and saves once. Returns done().
  bool run(TrainObserver& observer, const std::string& folder = "", const Tokenizer* tokenizer = nullptr,
           const Json& extra = {});

  /// Writes one checkpoint into `folder` itself: `training.safetensors` (weights, moments, step, generator,
  /// configuration) and then the model's files, each file atomically; resume() and saved_configuration() read the first
  /// alone. config.json gets the members of `extra` beside "model" and "train". With peers every process calls it, and
  /// the first one writes.
  void save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra = {}) const;

  /// Continues from the latest whole checkpoint of the folder of a run, or from a checkpoint itself; the model must
  /// have the same configuration. Returns warnings for a person, one line each: a later checkpoint that is damaged,
  /// another thread count, other options, other data. InputError when there is none that is whole and of this model.
  std::vector<std::string> resume(const std::string& folder);

 private:
  void begin();
  models::NamedTensors tensors() const;
  /// Size and identity of what is trained on; made rows have no size.
  int64_t train_tokens() const { return data_.train ? data_.train->size() : 0; }
  std::string train_identity() const;
  /// Whether this process writes files.
  bool writes() const;
  double accumulate(const Rows& rows, double weight, bool with_penalty);
  double loss_of_parts(std::vector<double> parts) const;
  std::vector<std::string> load(const std::string& checkpoint);
  /// step() of a run in a folder; a NonFiniteError leaves in it what is needed to look into it, see nonfinite.h.
  StepResult step_or_dump(const std::string& folder, const Tokenizer& tokenizer, const Json& extra);
  bool checkpoint_due(bool stopped, bool improved) const;

  std::shared_ptr<models::LanguageModel> model_;
  TrainData data_;
  TrainOptions options_;
  Peers* peers_;
  Rows own_;  ///< the rows of a step that this process works off
  std::unique_ptr<StepReader> reader_;
  bool bf16_ = false;
  int64_t step_ = 0;
  std::optional<ValidationResult> validation_;  ///< the last one
  std::unique_ptr<AdamW> optimizer_;
};

/// Builds a model with its initial weights drawn from `seed`.
std::shared_ptr<models::LanguageModel> make_model(const models::ModelConfig& config, int64_t seed);

}  // namespace longspan::train
