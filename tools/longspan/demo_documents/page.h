// The report of the document demo, from its numbers.
#pragma once

#include <string>
#include <vector>

#include "longspan/report/html.h"
#include "results.h"

namespace longspan::tool {

/// A row for each attention and each yardstick, a column for each task.
report::Table score_table(const DocumentPlan& plan, const DocumentResults& results);
/// Parameters and time of every attention on every task.
report::Table document_training_table(const DocumentPlan& plan, const DocumentResults& results);
/// Where the documents come from and how many there are.
report::Table data_table(const DocumentPlan& plan, const DocumentResults& results);
/// Time of a training step by length, times as fast as softmax.
report::Table step_table(const DocumentPlan& plan, const DocumentResults& results);

/// Scores on `valid` while a task is trained; seconds, or bytes, of a step by length.
report::LineChart learning_chart(const DocumentPlan& plan, const DocumentResults& results, const DocumentTask& task);
report::LineChart step_chart(const DocumentPlan& plan, const DocumentResults& results, bool memory);

/// What the numbers of a task say, in a sentence or two that claim no more than they show: a difference from chance or
/// from bag of words counts only beyond the sampling error of both.
std::string task_sentence(const DocumentPlan& plan, const DocumentResults& results, const DocumentTask& task);

report::HtmlPage document_page(const DocumentPlan& plan, const DocumentResults& results);

}  // namespace longspan::tool
