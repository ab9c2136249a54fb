// The page of a study of recall.
#pragma once

#include <string>

#include "longspan/report/chart.h"
#include "longspan/report/html.h"
#include "tools/longspan/study/recall_results.h"

namespace longspan::tool {

/// Accuracy by K at the longest n, and by n at K = at_pairs, of some of the variants.
report::LineChart by_pairs_chart(const RecallStudy& study, const std::vector<std::string>& names);
report::LineChart by_length_chart(const RecallStudy& study, const std::vector<std::string>& names);
/// Accuracy at (at_pairs, at_length) by the state of a head, a line for each of some groups; all of them, in charts of
/// as many as have a colour of their own.
report::LineChart frontier_chart(const RecallStudy& study, const std::vector<std::string>& groups);
std::vector<report::LineChart> frontier_charts(const RecallStudy& study);
/// Loss by steps of the first seed.
report::LineChart learning_chart(const RecallStudy& study, const std::vector<std::string>& names);

/// Which are the best at (at_pairs, at_length), how far apart, and which know nothing.
std::string recall_sentence(const RecallStudy& study);

report::HtmlPage recall_page(const RecallStudy& study);

}  // namespace longspan::tool
