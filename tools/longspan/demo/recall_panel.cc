#include "recall_panel.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

report::LineChart recall_chart(const DemoPlan& plan, const DemoResults& results) {
  report::LineChart chart;
  chart.title = str_cat("Recall of ", plan.recall.pairs, " pairs");
  chart.x_label = "tokens of the row";
  chart.y_label = "accuracy";
  chart.x_log = chart.x_lengths = true;
  chart.y_from_zero = true;
  for (const RecallPanelResult& result : results.recall) {
    report::Series series{result.label};
    for (const RecallPanelResult::Point& point : result.points) {
      const auto x = static_cast<double>(point.length);
      series.points.emplace_back(x, point.accuracy);
      series.band.push_back({x, std::max(point.accuracy - point.standard_error, 0.0),
                             std::min(point.accuracy + point.standard_error, 1.0)});
    }
    chart.series.push_back(std::move(series));
  }
  chart.y_marks = {{1 / static_cast<double>(plan.recall.pairs), "guessing one of the shown values"}};
  return chart;
}

report::Table recall_table(const DemoPlan& plan, const DemoResults& results) {
  report::Table table;
  table.columns = {{"attention"}, {"parameters", true}, {"training", true}};
  for (const int64_t length : plan.recall.lengths) table.columns.push_back({report::length_label(length), true});
  for (const RecallPanelResult& result : results.recall) {
    std::vector<std::string> row = {result.label, report::grouped(result.parameters),
                                    report::duration(result.train_seconds)};
    for (const RecallPanelResult::Point& point : result.points)
      row.push_back(str_cat(report::fixed(point.accuracy, 3), " ± ", report::fixed(point.standard_error, 3)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string recall_sentence(const DemoPlan& plan, const DemoResults& results) {
  if (results.recall.empty() || plan.recall.lengths.empty()) return "";
  const double guess = 1 / static_cast<double>(plan.recall.pairs);
  std::string known, guessed;
  for (const RecallPanelResult& result : results.recall) {
    const double accuracy = result.points.back().accuracy;
    std::string& list = accuracy > 2 * guess ? known : guessed;
    list += (list.empty() ? "" : ", ") + str_cat(result.label, " ", report::fixed(100 * accuracy, 0), " %");
  }
  std::string text =
      str_cat("Of ", plan.recall.pairs, " pairs at the beginning of a row of ",
              report::length_label(plan.recall.lengths.back()), " tokens, asked for at its end: ", known);
  if (known.empty()) return str_cat(text, "none is known better than by guessing (", guessed, ").");
  return guessed.empty() ? text + "." : str_cat(text, ". No better than guessing: ", guessed, ".");
}

}  // namespace longspan::tool
