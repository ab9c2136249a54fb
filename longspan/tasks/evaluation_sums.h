// What an evaluation adds up.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "longspan/tasks/answer_metrics.h"
#include "longspan/tasks/batch.h"
#include "longspan/tasks/evaluate.h"

namespace longspan::tasks {

struct ReadCounts {
  int64_t tokens = 0, sequences = 0;
};

/// Makes batches of the examples that `options` choose, spread evenly, and hands each to `on_batch` with the model in
/// evaluation mode, without gradients, as `options` say; the model's mode is as before afterwards. All windows of every
/// example are in its batch. InputError for a set without examples or of another kind than the model.
ReadCounts each_batch(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options,
                      const OnExamples& on_examples, const std::function<void(const Batch&)>& on_batch);

/// use(part) for runs of a batch's sequences, one after the other: up to 8,192 tokens, or one sequence alone that is
/// longer. A long document has many. Not for masked_language.
void each_part(const Batch& batch, const std::function<void(const Batch& part)>& use);

/// head_scores() of a batch, read in parts.
at::Tensor scores_in_parts(models::EncoderModel& model, const Batch& batch);

/// use(first, size) for runs of a batch's hidden tokens (masked_language), one after the other: so many that their
/// masked_logits() are no more than 2^22 numbers.
void each_run_of_hidden_tokens(const models::EncoderModel& model, const Batch& batch,
                               const std::function<void(int64_t first, int64_t size)>& use);

/// Sums over the batches of an evaluation.
class EvaluationSums {
 public:
  /// All must outlive it.
  EvaluationSums(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options)
      : model_(model), set_(set), options_(options) {}

  /// masked_language: what the model's head makes of the hidden states [1, T, E] of a batch.
  void add_masked(const Batch& batch, const at::Tensor& hidden);
  /// The other kinds: from head_scores().
  void add_scores(const Batch& batch, const at::Tensor& scores);
  /// Without tokens, sequences and seconds.
  Evaluation result() const;

 private:
  metrics::Metrics label_metrics() const;

  models::EncoderModel& model_;
  const ExampleSet& set_;
  const EvaluateOptions& options_;
  double loss_ = 0;
  int64_t targets_ = 0, examples_ = 0, right_ = 0;
  std::vector<std::vector<int64_t>> predicted_, expected_;
  std::vector<JudgedAnswer> answers_;
};

}  // namespace longspan::tasks
