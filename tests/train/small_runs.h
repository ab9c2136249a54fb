// Short training runs on the 11-letter language of token_files.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/text/tokenizer.h"
#include "longspan/train/train.h"
#include "tests/models/small_models.h"

namespace longspan::train {

/// A tokenizer of the 11-letter language.
class Letters final : public Tokenizer {
 public:
  std::string name() const override { return "bytes"; }
  int64_t vocabulary_size() const override { return 11; }
  std::vector<uint32_t> encode(std::string_view text) const override { return {text.begin(), text.end()}; }
  std::string decode(std::span<const uint32_t> tokens) const override { return {tokens.begin(), tokens.end()}; }
  FieldValues description() const override { return {{"tokenizer", std::string("bytes")}}; }
};

inline TrainOptions small_options(int64_t steps) {
  TrainOptions options;
  options.steps = steps;
  options.length = 24;
  options.warmup = 3;
  options.learning_rate = 1e-2;
  options.autocast = Autocast::none;
  options.valid_blocks = 4;
  return options;
}

/// A small model of bytes, which can be loaded again.
inline models::ModelConfig byte_config(double dropout = 0) {
  models::ModelConfig config = models::small_config();
  config.vocabulary = 256;
  config.dropout = dropout;
  return config;
}

struct Log : TrainObserver {
  void on_step(const StepResult& result) override { steps.push_back(result); }
  void on_validation(const ValidationResult& result) override { validations.push_back(result); }
  void on_checkpoint(int64_t step) override { checkpoints.push_back(step); }
  bool should_stop() override { return !steps.empty() && steps.back().step == stop_at; }
  int64_t stop_at = -1;
  std::vector<StepResult> steps;
  std::vector<ValidationResult> validations;
  std::vector<int64_t> checkpoints;
};

}  // namespace longspan::train
