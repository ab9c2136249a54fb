// How good the answers to all questions of a set are.
#pragma once

#include <string>
#include <vector>

#include "longspan/metrics/metrics.h"
#include "longspan/tasks/predictions.h"

namespace longspan::tasks {

/// A prediction beside what is right.
struct JudgedAnswer {
  std::string id;
  Prediction prediction;
  std::vector<std::string> right;  ///< none: there is no answer
};

/// exact_match, f1: by the rules of SQuAD. Where every question has an answer, triviaqa_exact_match and triviaqa_f1;
/// else has_answer_exact_match, has_answer_f1 and no_answer_exact_match, over the questions that have one and those
/// that have none. Where the empty answer was weighed against others, best_f1 and best_f1_threshold: in hindsight, with
/// the answers left out whose no_answer_score is above the threshold. All are shares, 0 for no questions.
///
/// Questions with one id, other than "", are one question about several texts: of the answers given, the one with the
/// highest score counts, and every right one is right.
metrics::Metrics answer_metrics(std::vector<JudgedAnswer> answers);

}  // namespace longspan::tasks
