// What a model says about examples, and how good that is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "longspan/metrics/labels.h"
#include "longspan/metrics/metrics.h"
#include "longspan/models/encoder_model.h"
#include "longspan/tasks/examples.h"
#include "longspan/tasks/options.h"
#include "longspan/tasks/predictions.h"

namespace longspan::tasks {

struct Evaluation {
  double loss = 0;        ///< mean nats, see losses(); NaN where no example has anything to learn
  int64_t targets = 0;    ///< what the mean is over
  int64_t examples = 0;   ///< measured
  int64_t sequences = 0;  ///< read: several windows of a long document
  int64_t tokens = 0;     ///< read
  double seconds = 0;
  /// masked_language: accuracy (of the hidden tokens), perplexity, bits_per_token (the BPC of masked models).
  /// classification: accuracy, macro_f1, micro_f1, and of two labels f1, that of the second one. multi_label: macro_f1,
  /// micro_f1, exact_match (all labels of an example). choice: accuracy. question: answer_metrics().
  metrics::Metrics metrics;
};

/// `done` of `total` examples; may throw to give up.
using OnExamples = std::function<void(int64_t done, int64_t total)>;
using OnPrediction = std::function<void(const Prediction&)>;

struct EvaluateOptions {
  MaskingOptions masking;                            ///< masked_language; the same tokens are hidden every time
  uint64_t seed = 0;                                 ///< of what is hidden
  int64_t examples = 0;                              ///< how many are measured, spread evenly; 0 = all
  bool autocast = false;                             ///< matrix products in bfloat16
  LearnAnswers learn_answers = LearnAnswers::first;  ///< question: what the loss is of
  AnswerOptions answers;                             ///< question
  /// Of the mean F1 of labels; not set: as scikit-learn does by itself, skip for classification, zero for multi_label.
  std::optional<metrics::AbsentLabels> absent_labels;
};

/// In evaluation mode, without gradients; the model's mode is as before afterwards. All windows of every example are
/// read, a few at a time. InputError for a set without examples; RunError when a loss is not finite.
Evaluation evaluate(models::EncoderModel& model, const ExampleSet& set, const EvaluateOptions& options,
                    const OnExamples& on_examples = {});

/// Predictions for every example, in order; all kinds but masked_language.
void predict(models::EncoderModel& model, const ExampleSet& set, bool autocast, const OnPrediction& on_prediction,
             const AnswerOptions& answers = {});

/// A hidden token's most likely values.
struct Filling {
  int64_t place = 0;                                   ///< of the mask token in the sequence
  std::vector<std::pair<int64_t, double>> candidates;  ///< token, probability; likeliest first
};
/// masked_language: the `most` likeliest tokens at every mask token that the sequence has; special ones are not among
/// them.
std::vector<Filling> fill(models::EncoderModel& model, const std::vector<int64_t>& sequence, int64_t most);

}  // namespace longspan::tasks
