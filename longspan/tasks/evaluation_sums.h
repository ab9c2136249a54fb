// What an evaluation adds up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "longspan/tasks/batch.h"
#include "longspan/tasks/evaluate.h"

namespace longspan::tasks {

/// Makes batches of the examples that `options` choose, spread evenly, and hands each to `on_batch` with the model in
/// evaluation mode, without gradients, as `options` say; the model's mode is as before afterwards. Returns the tokens
/// of all. InputError for a set without examples or of another kind than the model.
int64_t each_batch(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options,
                   const OnExamples& on_examples, const std::function<void(const Batch&)>& on_batch);

/// Rows of masked_logits() that are formed at a time, so that they are no more than 2^22 numbers.
int64_t logits_together(const models::EncoderModel& model);

/// Sums over the batches of an evaluation.
class EvaluationSums {
 public:
  /// Both must outlive it.
  EvaluationSums(models::EncoderModel& model, const ExampleSet& set) : model_(model), set_(set) {}

  /// What the model's head makes of the hidden states [1, T, E] of a batch.
  void add(const Batch& batch, const at::Tensor& hidden);
  /// Without tokens and seconds.
  Evaluation result() const;

 private:
  void add_masked(const Batch& batch, const at::Tensor& hidden);
  void add_answer(const std::string& answer, const QuestionRecord& record);

  models::EncoderModel& model_;
  const ExampleSet& set_;
  double loss_ = 0, exact_ = 0, f1_ = 0;
  int64_t targets_ = 0, examples_ = 0, right_ = 0;
  std::vector<std::vector<int64_t>> predicted_, expected_;
};

}  // namespace longspan::tasks
