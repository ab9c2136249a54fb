#include <algorithm>
#include <map>

#include "longspan/base/check.h"
#include "page.h"

namespace longspan::tool {

report::LineChart learning_chart(const DocumentPlan& plan, const DocumentResults& results, const DocumentTask& task) {
  report::LineChart chart;
  chart.title = task.title + ": score on the validation documents";
  chart.x_label = "steps";
  chart.y_label = "% right";
  for (const DocumentContender& contender : plan.contenders) {
    std::map<int64_t, std::vector<double>> by_step;
    for (const DocumentScore& score : results.scores)
      if (score.task == task.name && score.contender == contender.name)
        for (const auto& [step, value] : score.valid) by_step[step].push_back(100 * value);
    report::Series series{contender.label};
    for (const auto& [step, values] : by_step) {
      double sum = 0;
      for (const double value : values) sum += value;
      const auto x = static_cast<double>(step);
      series.points.emplace_back(x, sum / static_cast<double>(values.size()));
      const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
      if (values.size() > 1) series.band.push_back({x, *lowest, *highest});
    }
    chart.series.push_back(std::move(series));
  }
  for (const DocumentYardstick& yardstick : results.yardsticks)
    if (yardstick.task == task.name) chart.y_marks.push_back({100 * yardstick.test, yardstick.name});
  return chart;
}

report::LineChart step_chart(const DocumentPlan& plan, const DocumentResults& results, bool memory) {
  report::LineChart chart;
  chart.title = memory ? "Memory of a training step" : "Time of a training step";
  chart.x_label = "tokens of one sequence";
  chart.y_label = memory ? "MiB beyond what is held between steps" : "milliseconds";
  chart.x_log = chart.x_lengths = chart.y_log = true;
  for (const DocumentContender& contender : plan.contenders) {
    report::Series series{contender.label};
    for (const DocumentCost& cost : results.costs) {
      if (cost.contender != contender.name || (memory && !cost.bytes)) continue;
      constexpr double kMebibyte = 1 << 20;
      series.points.emplace_back(static_cast<double>(cost.length),
                                 memory ? *cost.bytes / kMebibyte : cost.seconds * 1000);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace longspan::tool
