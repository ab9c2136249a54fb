// How good predictions are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longspan::tasks {

/// Values by name, in the order in which they are shown.
using Metrics = std::vector<std::pair<std::string, double>>;

/// How often a label was given rightly, given wrongly, and not given where it was right.
struct LabelCounts {
  int64_t right = 0, wrong = 0, missing = 0;
  /// 2 right / (2 right + wrong + missing); 0 where the label is nowhere.
  double f1() const;
};

/// For each of `labels` labels; predicted and expected hold the labels of every example, each once, from 0.
std::vector<LabelCounts> count_labels(std::span<const std::vector<int64_t>> predicted,
                                      std::span<const std::vector<int64_t>> expected, int64_t labels);
/// F1 of all labels together.
double micro_f1(std::span<const LabelCounts> counts);
/// Mean of the F1 of every label that was predicted or expected somewhere; 0 for none.
double macro_f1(std::span<const LabelCounts> counts);
/// Share of the examples whose labels are exactly the expected ones; 0 for no examples.
double exact_share(std::span<const std::vector<int64_t>> predicted, std::span<const std::vector<int64_t>> expected);

/// What two answers are compared by, as SQuAD does (Rajpurkar et al., 2016): lower case, without punctuation and
/// without the words a, an and the, one space between words. Case and punctuation are those of ASCII.
std::string normalized_answer(std::string_view answer);
/// 1 or 0: whether a predicted answer equals one of the right ones, both normalised. No right answer: "" is right.
double exact_match(std::string_view predicted, std::span<const std::string> answers);
/// The best harmonic mean of precision and recall of the words, over the right answers; equal to exact_match() where
/// one of the two has no words.
double answer_f1(std::string_view predicted, std::span<const std::string> answers);

}  // namespace longspan::tasks
