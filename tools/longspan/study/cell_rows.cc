#include "tools/longspan/study/cell_rows.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/options_table.h"
#include "tools/longspan/output.h"

namespace longspan::tool {

void CellRows::expect(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) widest_ = std::max(widest_, report::characters(label));
}

void CellRows::add(const StudyCell& cell, const Json& result, std::vector<std::string> row) {
  if (output_ == CellOutput::none) return;
  if (output_ == CellOutput::json) return print_json({{"cell", cell.name}, {"result", result}});
  if (!table_) table_ = std::make_unique<LiveTable>(columns_, std::vector<std::size_t>{widest_});
  row.insert(row.begin(), cell.label);
  print_text(table_->add(row));
}

std::vector<std::pair<double, double>> curve_points(const Json& curve) {
  std::vector<std::pair<double, double>> out;
  const Json &steps = curve.at("steps"), &values = curve.at("value");
  for (std::size_t i = 0; i < std::min(steps.size(), values.size()); ++i)
    out.emplace_back(steps[i].get<double>(), values[i].get<double>());
  return out;
}

void add_conditions(report::HtmlPage& page, const StudyConditions& conditions) {
  page.heading("Recipe, machine and command");
  page.folded("The complete recipe", report::options_table({{"all memories", conditions.recipe}}));
  auto machine = facts(conditions.environment);
  machine.emplace_back("Time", str_cat(report::duration(conditions.seconds),
                                       " of this run; finished cells of earlier runs counted in theirs"));
  page.facts(machine);
  page.preformatted(conditions.command_line);
}

}  // namespace longspan::tool
