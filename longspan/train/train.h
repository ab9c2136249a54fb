// The training loop: AdamW, warm-up and cosine, clipping, validation, checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/data/token_file.h"
#include "longspan/data/window_sampler.h"
#include "longspan/models/language_model.h"
#include "longspan/models/tensor_files.h"
#include "longspan/text/tokenizer.h"
#include "longspan/train/options.h"

namespace longspan::train {

class AdamW;

struct StepResult {
  int64_t step = 0;  ///< 1 for the first
  double loss = 0;   ///< mean nats per token, before the update, auxiliary losses apart; bits per token = loss / ln 2
  double grad_norm = 0;  ///< before clipping
  double learning_rate = 0;
  int64_t tokens = 0;  ///< of this step
  double seconds = 0;  ///< of this step
};

struct ValidationResult {
  int64_t step = 0;
  double loss = 0;  ///< mean nats per token
  int64_t tokens = 0;
  double seconds = 0;
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

/// Trains `model` on random windows of a token file. Windows depend on (seed, step, row) alone and every reduction has
/// a fixed order, so a run that was stopped and resumed gives the same bits as one that was not (same threads, machine
/// and build).
class Trainer {
 public:
  /// `valid` may be null: no validation. The files must outlive the trainer. Seeds torch's default generator (dropout)
  /// with options.seed. Throws InputError when options do not validate, a vocabulary differs from the model's, or
  /// `train` is too short for one window.
  Trainer(std::shared_ptr<models::LanguageModel> model, const TokenFile& train, const TokenFile* valid,
          TrainOptions options);
  ~Trainer();

  const TrainOptions& options() const { return options_; }
  models::LanguageModel& model() { return *model_; }
  int64_t steps_done() const { return step_; }
  bool done() const { return step_ >= options_.steps; }

  /// One optimizer step. NonFiniteError naming the step when loss or gradient is not finite; everything that a
  /// checkpoint holds, torch's generator apart, is then as before it.
  StepResult step();

  /// Mean loss over options().valid_blocks windows of the validation split, spread evenly, as many as it holds without
  /// overlap; a split shorter than a window is one window. NonFiniteError when it is not finite.
  ValidationResult validate();

  /// Steps until done or stopped; validates and checkpoints as options say and at the end, and whenever the validation
  /// loss is the lowest so far (keep_best > 0). A NonFiniteError leaves `<folder>/nonfinite` (nonfinite.h). `folder` ""
  /// = no checkpoints, else `tokenizer` is needed; `extra` as for save(). The folder is created and tried before the
  /// first step (RunError); see checkpoint_store.h for what it holds: killed at any moment it resumes. When nothing is
  /// left to do (a finished run was resumed), validates and saves once. Returns done().
  bool run(TrainObserver& observer, const std::string& folder = "", const Tokenizer* tokenizer = nullptr,
           const Json& extra = {});

  /// Writes one checkpoint into `folder` itself: `training.safetensors` (weights, moments, step, generator,
  /// configuration) and then the model's files, each file atomically; resume() and saved_configuration() read the first
  /// alone. config.json gets the members of `extra` beside "model" and "train".
  void save(const std::string& folder, const Tokenizer& tokenizer, const Json& extra = {}) const;

  /// Continues from the latest whole checkpoint of the folder of a run, or from a checkpoint itself; the model must
  /// have the same configuration. Returns warnings for a person, one line each: a later checkpoint that is damaged,
  /// another thread count, other options, other data. InputError when there is none that is whole and of this model.
  std::vector<std::string> resume(const std::string& folder);

 private:
  models::NamedTensors tensors() const;
  std::vector<std::string> load(const std::string& checkpoint);
  /// step() of a run in a folder; a NonFiniteError leaves in it what is needed to look into it, see nonfinite.h.
  StepResult step_or_dump(const std::string& folder, const Tokenizer& tokenizer, const Json& extra);
  bool checkpoint_due(bool stopped, bool improved) const;

  std::shared_ptr<models::LanguageModel> model_;
  const TokenFile& train_;
  const TokenFile* valid_;
  TrainOptions options_;
  WindowSampler sampler_;
  bool bf16_ = false;
  int64_t step_ = 0;
  std::vector<at::Tensor> batch_;               ///< tokens of the last step, in the order of use
  std::optional<ValidationResult> validation_;  ///< the last one
  std::unique_ptr<AdamW> optimizer_;
};

/// Builds a model with its initial weights drawn from `seed`.
std::shared_ptr<models::LanguageModel> make_model(const models::ModelConfig& config, int64_t seed);

}  // namespace longspan::train
