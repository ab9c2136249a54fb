#include "longspan/metrics/labels.h"

#include <algorithm>

#include "longspan/base/check.h"

namespace longspan::metrics {

double LabelCounts::f1() const {
  const int64_t all = 2 * right + wrong + missing;
  return all > 0 ? 2 * static_cast<double>(right) / static_cast<double>(all) : 0;
}

std::vector<LabelCounts> count_labels(LabelLists predicted, LabelLists expected, int64_t labels) {
  LONGSPAN_CHECK(predicted.size() == expected.size(), "metrics: as many predictions as examples must be given, ",
                 expected.size(), ", got ", predicted.size());
  std::vector<LabelCounts> counts(static_cast<std::size_t>(labels));
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    for (const auto* list : {&predicted[i], &expected[i]})
      for (const int64_t label : *list)
        LONGSPAN_CHECK(label >= 0 && label < labels, "metrics: labels must be from 0 to ", labels - 1, ", got ", label);
    const auto has = [](const std::vector<int64_t>& of, int64_t label) { return std::ranges::count(of, label) > 0; };
    for (const int64_t label : predicted[i]) {
      auto& count = counts[static_cast<std::size_t>(label)];
      ++(has(expected[i], label) ? count.right : count.wrong);
    }
    for (const int64_t label : expected[i])
      if (!has(predicted[i], label)) ++counts[static_cast<std::size_t>(label)].missing;
  }
  return counts;
}

double micro_f1(std::span<const LabelCounts> counts) {
  LabelCounts sum;
  for (const LabelCounts& each : counts) {
    sum.right += each.right;
    sum.wrong += each.wrong;
    sum.missing += each.missing;
  }
  return sum.f1();
}

double macro_f1(std::span<const LabelCounts> counts, AbsentLabels absent) {
  double sum = 0;
  int64_t labels = 0;
  for (const LabelCounts& each : counts) {
    if (each.is_absent() && absent == AbsentLabels::skip) continue;
    sum += each.is_absent() && absent == AbsentLabels::one ? 1 : each.f1();
    ++labels;
  }
  return labels > 0 ? sum / static_cast<double>(labels) : 0;
}

double exact_share(LabelLists predicted, LabelLists expected) {
  int64_t same = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (std::ranges::is_permutation(predicted[i], expected[i])) ++same;
  return expected.empty() ? 0 : static_cast<double>(same) / static_cast<double>(expected.size());
}

}  // namespace longspan::metrics
