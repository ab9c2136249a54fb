// Training on `recall` and `copy`, and how well a model answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "longspan/data/recall.h"
#include "longspan/models/language_model.h"
#include "longspan/train/train.h"

namespace longspan::tasks {

/// What is trained where nothing else is said: 2 layers of width 128 with 4 heads, no positions but the attention's
/// own, the vocabulary of the task. `recall`: resolved().
models::ModelConfig recall_model(const RecallOptions& recall);

/// How: 400 steps of 13 times 256 = 3,328 tokens, learning rate 4e-3 after 40 steps of linear increase, falling as a
/// cosine to a tenth of it, float32.
train::TrainOptions recall_training();

/// A trainer of rows that `recall` describes.
std::unique_ptr<train::Trainer> recall_trainer(std::shared_ptr<models::LanguageModel> model,
                                               const RecallOptions& recall, const train::TrainOptions& options);

struct RecallEvaluation {
  int64_t questions = 512;  ///< at least so many values to be known, and at least 16 rows
  int64_t span = 192;       ///< they stand in so many last tokens of a row; 0: anywhere behind the facts
  uint64_t seed = 0;        ///< of the rows: every model of a comparison answers the same
  int64_t piece = 16384;    ///< tokens of rows read side by side; a longer row is read alone
};

struct RecallResult {
  int64_t pairs = 0, length = 0;  ///< as asked for
  int64_t rows = 0, questions = 0;
  double accuracy = 0;        ///< answers whose most likely token is the right one
  double standard_error = 0;  ///< of the accuracy, from the spread over rows (questions of a row are not independent)
  double whole = 0;           ///< facts whose every value is right; the accuracy where a fact is one value
  double loss = 0;            ///< mean nats of an answer
  double seconds = 0;
};

/// Answers to measured_shape(pairs, length, span) of the split `test`. `on_rows` is told (done, total). InputError for
/// a row without room, a model of another vocabulary, or one with too few positions; NonFiniteError when a loss is not
/// finite.
RecallResult evaluate_recall(models::LanguageModel& model, const RecallOptions& recall, int64_t pairs, int64_t length,
                             const RecallEvaluation& options,
                             const std::function<void(int64_t, int64_t)>& on_rows = {});

/// The same on rows like those that training ends with, of the split `valid`: what learning rates are chosen by.
/// `pairs` of the result is 0: each row has its own.
RecallResult validate_recall(models::LanguageModel& model, const RecallOptions& recall, int64_t length,
                             const RecallEvaluation& options);

}  // namespace longspan::tasks
