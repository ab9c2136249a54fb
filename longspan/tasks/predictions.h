// From the scores of a batch to predictions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/tasks/batch.h"

namespace longspan::tasks {

struct Answer {
  std::string text;            ///< "": there is none
  AnswerSpan bytes;            ///< of the context
  AnswerSpan characters;       ///< the same place in characters (code points)
  double score = 0;            ///< as place, of beginning and end together: ln probability
  double probability() const;  ///< that it begins there times that it ends there
};

/// Of one example.
struct Prediction {
  int64_t example = 0;
  std::vector<double> probabilities;  ///< of every label or candidate
  std::vector<int64_t> labels;  ///< classification and choice: the most likely; multi_label: those with at least 0.5
  // question
  Answer answer;                          ///< the one that is given
  std::vector<Answer> best;               ///< the likeliest other than the empty one, best first
  std::optional<double> no_answer_score;  ///< score of the empty answer minus that of best.front(), where it may be
};

struct AnswerOptions {
  int64_t longest = 0;   ///< tokens of an answer; 0: head.answer_tokens
  double threshold = 0;  ///< the empty answer is given where no_answer_score is larger
  int64_t best = 1;      ///< how many answers Prediction::best has at the most; at least 1
};

/// The predictions for a batch of `set`, from head_scores(); not for masked_language. InputError for options out of
/// range.
std::vector<Prediction> predictions(const models::HeadConfig& head, const ExampleSet& set, const Batch& batch,
                                    const at::Tensor& scores, const AnswerOptions& options = {});

}  // namespace longspan::tasks
