// How good predicted labels are. Names and cases at the edge as in scikit-learn's accuracy_score and f1_score.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace longspan::metrics {

/// The labels of every example, each once, from 0.
using LabelLists = std::span<const std::vector<int64_t>>;

/// What the F1 of a label is that is neither predicted nor expected anywhere.
enum class AbsentLabels {
  skip,  ///< it has none: the mean is over the others (zero_division=nan; scikit-learn's default for one label each)
  zero,  ///< 0 (zero_division=0; its default for several labels)
  one,   ///< 1 (zero_division=1)
};

/// How often a label was given rightly, given wrongly, and not given where it was right.
struct LabelCounts {
  int64_t right = 0, wrong = 0, missing = 0;
  bool is_absent() const { return right + wrong + missing == 0; }
  /// 2 right / (2 right + wrong + missing); 0 where the label is nowhere.
  double f1() const;
};

/// For each of `labels` labels. InputError unless there are as many predictions as examples, and for a
/// label out of range.
std::vector<LabelCounts> count_labels(LabelLists predicted, LabelLists expected, int64_t labels);
/// F1 of all labels together; 0 when there is none.
double micro_f1(std::span<const LabelCounts> counts);
/// Mean of the F1 of every label; 0 when there is none to take it over.
double macro_f1(std::span<const LabelCounts> counts, AbsentLabels absent = AbsentLabels::skip);
/// Share of the examples whose labels are exactly the expected ones; 0 for no examples. Of one label each it is the
/// accuracy.
double exact_share(LabelLists predicted, LabelLists expected);

}  // namespace longspan::metrics
