#include "charts.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "page.h"

namespace longspan::tool {

namespace {

/// Means over the seeds of one contender, which all have the same steps in a bin, with their range.
report::Series over_seeds(const std::vector<const TrainingResult*>& trainings) {
  report::Series series;
  const auto& bins = trainings.front()->curve.bins();
  for (std::size_t i = 0; i < bins.size(); ++i) {
    report::Interval range = {bins[i].x, bins[i].mean, bins[i].mean};
    double sum = 0;
    for (const TrainingResult* training : trainings) {
      const double mean = training->curve.bins()[i].mean;
      range.low = std::min(range.low, mean);
      range.high = std::max(range.high, mean);
      sum += mean;
    }
    series.points.emplace_back(range.x, sum / static_cast<double>(trainings.size()));
    series.band.push_back(range);
  }
  return series;
}

}  // namespace

report::LineChart quality_chart(const DemoPlan& plan, const DemoResults& results) {
  report::LineChart chart;
  chart.title = "Bits per byte by context";
  chart.x_label = "tokens of context";
  chart.y_label = "bits per byte";
  chart.x_log = chart.x_lengths = true;
  for (const Contender& contender : plan.contenders) {
    report::Series series;
    series.name = contender.label;
    for (const int64_t length : plan.lengths)
      if (const auto cell = quality(results, contender.attention, length)) {
        const auto x = static_cast<double>(length);
        series.points.emplace_back(x, cell->mean);
        if (cell->seeds > 1) series.band.push_back({x, cell->lowest, cell->highest});
      }
    chart.series.push_back(std::move(series));
  }
  for (const auto& [name, rate] : results.compressors)
    chart.y_marks.push_back({rate, str_cat(name, ": ", report::fixed(rate, 2))});
  return chart;
}

report::LineChart training_chart(const DemoPlan& plan, const DemoResults& results) {
  report::LineChart chart;
  chart.title = "Loss in training";
  chart.x_label = "tokens seen";
  chart.y_label = "bits per byte of training windows";
  chart.y_log = true;
  for (const Contender& contender : plan.contenders) {
    std::vector<const TrainingResult*> trainings;
    for (const TrainingResult& t : results.trainings)
      if (t.attention == contender.attention && !t.curve.bins().empty()) trainings.push_back(&t);
    if (trainings.empty()) continue;
    report::Series series =
        trainings.size() == 1 ? report::series_of("", trainings.front()->curve) : over_seeds(trainings);
    series.name = contender.label;
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string training_caption(const DemoPlan& plan, const DemoResults& results) {
  if (results.trainings.empty()) return "";
  const int64_t steps = results.trainings.front().curve.samples_per_bin();
  std::string text = steps == 1 ? "Every step" : str_cat("Means of ", steps, " steps");
  if (plan.seeds.size() > 1)
    text += str_cat(" and of ", plan.seeds.size(), " seeds; the bands reach from the lowest to the highest seed.");
  else if (steps == 1)
    text += ", one seed.";
  else
    text +=
        "; the bands are one standard deviation of a single step to either side: the noise of the steps, for there "
        "is one seed only.";
  return text + " Lower is better.";
}

report::LineChart cost_chart(const DemoPlan& plan, const Costs& costs, const CostChart& how) {
  report::LineChart chart;
  chart.title = how.title;
  chart.x_label = "tokens";
  chart.y_label = how.y_label;
  chart.x_log = chart.x_lengths = true;
  chart.y_log = !how.from_zero;
  chart.y_from_zero = how.from_zero;
  for (const Contender& contender : plan.contenders) {
    report::Series series;
    series.name = contender.label;
    for (const CostResult& cost : costs)
      if (cost.attention == contender.attention)
        series.points.emplace_back(static_cast<double>(cost.length), cost.value / how.unit);
    if (contender.attention == "softmax")
      for (const auto& [length, value] : extrapolated_softmax(costs))
        series.extrapolated.emplace_back(length, value / how.unit);
    chart.series.push_back(std::move(series));
  }
  if (const auto even = break_even(costs, "lavo"); even && even->kind == BreakEven::Kind::at)
    chart.x_marks.push_back({even->length, "break-even at " + even_length(*even)});
  return chart;
}

}  // namespace longspan::tool
