#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "page.h"

namespace longspan::tool {

namespace {

std::string cell_text(const ScoreCell& cell) {
  if (cell.seeds == 1) return report::percent(cell.mean);
  return str_cat(report::percent(cell.mean), " (", report::fixed(100 * cell.lowest, 1), " to ",
                 report::fixed(100 * cell.highest, 1), ")");
}

/// Names of the yardsticks in the order of their first appearance.
std::vector<std::string> yardstick_names(const DocumentResults& results) {
  std::vector<std::string> names;
  for (const DocumentYardstick& yardstick : results.yardsticks)
    if (std::find(names.begin(), names.end(), yardstick.name) == names.end()) names.push_back(yardstick.name);
  return names;
}

}  // namespace

report::Table score_table(const DocumentPlan& plan, const DocumentResults& results) {
  report::Table table;
  table.columns = {{"attention"}};
  for (const DocumentTask& task : plan.tasks) table.columns.push_back({task.title, true});
  for (const DocumentContender& contender : plan.contenders) {
    table.rows.push_back({contender.label});
    for (const DocumentTask& task : plan.tasks) {
      const auto cell = score_of(results, task.name, contender.name);
      table.rows.back().push_back(cell ? cell_text(*cell) : "-");
    }
  }
  for (const std::string& name : yardstick_names(results)) {
    table.rows.push_back({name});
    for (const DocumentTask& task : plan.tasks) {
      const auto at = std::find_if(results.yardsticks.begin(), results.yardsticks.end(), [&](const auto& yardstick) {
        return yardstick.task == task.name && yardstick.name == name;
      });
      table.rows.back().push_back(at == results.yardsticks.end() ? "-" : report::percent(at->test));
    }
  }
  table.rows.push_back({"the most common answer"});
  for (const DocumentTask& task : plan.tasks) {
    const DocumentData* data = data_of(results, task.name);
    table.rows.back().push_back(data && data->chance ? report::percent(*data->chance) : "-");
  }
  return table;
}

report::Table document_training_table(const DocumentPlan& plan, const DocumentResults& results) {
  report::Table table;
  table.columns = {{"attention"}, {"task"}, {"parameters", true}, {"steps", true}, {"time", true}, {"seed", true}};
  for (const DocumentContender& contender : plan.contenders)
    for (const DocumentTask& task : plan.tasks)
      for (const DocumentScore& score : results.scores)
        if (score.contender == contender.name && score.task == task.name)
          table.rows.push_back({contender.label, task.title, report::grouped(score.parameters),
                                report::grouped(score.steps), report::duration(score.seconds),
                                std::to_string(score.seed)});
  return table;
}

report::Table data_table(const DocumentPlan& plan, const DocumentResults& results) {
  report::Table table;
  table.columns = {{"task"},       {"train", true},         {"valid", true},
                   {"test", true}, {"median tokens", true}, {"longest", true}};
  for (const DocumentTask& task : plan.tasks)
    if (const DocumentData* data = data_of(results, task.name))
      table.rows.push_back({task.title, report::grouped(data->train), report::grouped(data->valid),
                            report::grouped(data->test), report::grouped(data->median_tokens),
                            report::grouped(data->longest_tokens)});
  return table;
}

report::Table step_table(const DocumentPlan& plan, const DocumentResults& results) {
  report::Table table;
  table.columns = {{"attention"}};
  for (const int64_t length : plan.lengths) table.columns.push_back({report::length_label(length), true});
  for (const DocumentContender& contender : plan.contenders) {
    table.rows.push_back({contender.label});
    for (const int64_t length : plan.lengths) {
      const auto own = cost_of(results, contender.name, length), softmax = cost_of(results, "softmax", length);
      std::string text = "-";
      if (own) text = report::significant(*own * 1000, 3) + " ms";
      if (own && softmax && contender.name != "softmax")
        text += str_cat(" (", report::significant(*softmax / *own, 2), "x)");
      table.rows.back().push_back(text);
    }
  }
  return table;
}

}  // namespace longspan::tool
