#include "rolling_view.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

std::vector<Json> to_json(const RollingLook& look) {
  std::vector<Json> out;
  for (const RollingSeries& series : look.series) {
    Json json;
    json["attention"] = look.attention;
    json["name"] = series.name;
    json["n"] = look.n;
    json["seed"] = look.seed;
    json["shifts"] = look.shifts;
    json["errors"] = series.errors;
    json["options"] = longspan::to_json(series.options);
    out.push_back(std::move(json));
  }
  return out;
}

report::Table rolling_table(const RollingLook& look) {
  report::Table table;
  table.columns = {{"shift", true}};
  for (const RollingSeries& series : look.series) table.columns.push_back({series.name, true});
  for (std::size_t i = 0; i < look.shifts.size(); ++i) {
    table.rows.push_back({report::grouped(look.shifts[i])});
    for (const RollingSeries& series : look.series)
      table.rows.back().push_back(report::significant(series.errors[i], 3));
  }
  return table;
}

report::LineChart rolling_chart(const RollingLook& look) {
  report::LineChart chart;
  chart.title = str_cat("Rolling a text of ", report::grouped(look.n), " tokens: ", look.attention);
  chart.x_label = "shift, tokens";
  chart.y_label = "relative change of the output";
  chart.x_log = chart.y_from_zero = true;
  for (const RollingSeries& series : look.series) {
    chart.series.push_back({series.name});
    for (std::size_t i = 0; i < look.shifts.size(); ++i)
      chart.series.back().points.emplace_back(static_cast<double>(look.shifts[i]), series.errors[i]);
  }
  return chart;
}

}  // namespace longspan::tool
