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

std::vector<Json> to_json(const RolledModelLook& look) {
  std::vector<Json> out;
  for (const RolledModelRow& row : look.rows) {
    Json json = {{"model", look.model},
                 {"kind", look.kind},
                 {"attention", look.attention},
                 {"positions", look.positions},
                 {"feature", look.feature},
                 {"roll_pattern", look.roll_pattern},
                 {"slots", look.slots > 0 ? Json(look.slots) : Json()},
                 {"examples", look.examples},
                 {"tokens", look.tokens},
                 {"shift", row.shift},
                 {"hidden_change", row.hidden_change},
                 {"head_change", row.head_change}};
    if (row.loss) json["loss"] = *row.loss;
    for (const auto& [name, value] : row.metrics) json[name] = value;
    out.push_back(std::move(json));
  }
  return out;
}

report::Table rolling_table(const RolledModelLook& look) {
  report::Table table;
  table.columns = {{"shift", true}, {"change of hidden states", true}, {"of what the head says", true}};
  const bool measured = !look.rows.empty() && look.rows.front().loss;
  if (measured) {
    table.columns.push_back({"loss", true});
    for (const auto& metric : look.rows.front().metrics) table.columns.push_back({metric.first, true});
  }
  for (const RolledModelRow& row : look.rows) {
    table.rows.push_back({report::grouped(row.shift), report::significant(row.hidden_change, 3),
                          report::significant(row.head_change, 3)});
    if (!measured) continue;
    table.rows.back().push_back(report::fixed(*row.loss, 4));
    for (const auto& metric : row.metrics) table.rows.back().push_back(report::fixed(metric.second, 4));
  }
  return table;
}

report::LineChart rolling_chart(const RolledModelLook& look) {
  report::LineChart chart;
  chart.title = str_cat("Rolling ", report::grouped(look.examples), " examples: ", look.kind, " with ", look.attention);
  chart.x_label = "shift, tokens";
  chart.x_log = chart.y_from_zero = true;
  for (const char* name : {"hidden states", "head"}) chart.series.push_back({name});
  const bool measured = !look.rows.empty() && !look.rows.front().metrics.empty();
  if (measured) chart.series.push_back({look.rows.front().metrics.front().first});
  chart.y_label = measured ? str_cat("relative change; ", chart.series.back().name) : "relative change";
  for (const RolledModelRow& row : look.rows) {
    const auto shift = static_cast<double>(row.shift);
    chart.series[0].points.emplace_back(shift, row.hidden_change);
    chart.series[1].points.emplace_back(shift, row.head_change);
    if (!measured) continue;
    chart.series[2].points.emplace_back(shift, row.metrics.front().second);
    if (row.shift == 0)
      chart.y_marks.push_back({row.metrics.front().second, chart.series[2].name + " without a shift"});
  }
  return chart;
}

}  // namespace longspan::tool
