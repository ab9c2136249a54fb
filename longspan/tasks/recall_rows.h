// Rows of `recall` and `copy` as a trainer reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/data/recall.h"
#include "longspan/models/language_model.h"
#include "longspan/train/options.h"
#include "longspan/train/step_reader.h"

namespace longspan::tasks {

/// Rows side by side: tokens [B, n + 1], and where each row's questions stand, as places in [B n] (row-major).
struct RecallBatch {
  at::Tensor tokens;
  at::Tensor questions;                ///< [Q] int64, ascending
  std::vector<int64_t> row_questions;  ///< how many of them each row has
};
RecallBatch recall_batch(const std::vector<RecallRow>& rows);

/// Hidden states at the questions [1, Q, E] and the tokens to be known there [1, Q].
struct RecallAnswers {
  at::Tensor hidden, targets;
};
RecallAnswers read_questions(models::LanguageModel& model, const RecallBatch& batch,
                             const models::TokenInputs& inputs = {});

/// A row of `options.length` tokens holds as many sequences, one after the other and strangers to each other, as rows
/// of the stage under way fit in it: a step reads `options.batch` times `options.length` tokens in every stage. Its
/// targets are the questions alone.
class RecallRows final : public train::StepReader {
 public:
  /// `recall`: resolved(). InputError when a stage has no room for a pair and a question, or the model's vocabulary is
  /// another.
  RecallRows(const RecallOptions& recall, const train::TrainOptions& options, const models::ModelConfig& model);

  int64_t targets(int64_t step) const override;
  at::Tensor nll(models::LanguageModel& model, int64_t step, const train::Rows& rows, uint64_t dropout_seed) override;
  std::string identity() const override;

 private:
  RecallShape shape(int64_t step, int64_t number) const;

  RecallOptions recall_;
  train::TrainOptions options_;
};

}  // namespace longspan::tasks
