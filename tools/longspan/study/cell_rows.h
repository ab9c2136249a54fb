// The results of a study as its cells come in, and what closes its page.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "longspan/report/html.h"
#include "tools/longspan/environment.h"
#include "tools/longspan/live_table.h"
#include "tools/longspan/study/cells.h"

namespace longspan::tool {

/// How results are told: a table for a person, JSON Lines, or not before the end (Markdown).
enum class CellOutput { table, json, none };

class CellRows {
 public:
  CellRows(CellOutput output, std::vector<report::Column> columns) : output_(output), columns_(std::move(columns)) {}
  /// `cells`: all that will come, for the width of the first column.
  void expect(const std::vector<std::string>& labels);
  /// The cells of the row behind its label.
  void add(const StudyCell& cell, const Json& result, std::vector<std::string> row);

 private:
  CellOutput output_;
  std::vector<report::Column> columns_;
  std::size_t widest_ = 0;
  std::unique_ptr<LiveTable> table_;
};

/// [(steps, value)] of a curve as CellSteps has it.
std::vector<std::pair<double, double>> curve_points(const Json& curve);

/// Recipe, machine, time and command of a study.
struct StudyConditions {
  Json recipe;
  Environment environment;
  double seconds = 0;  ///< of this run of the program; cells of earlier runs count in theirs
  std::string command_line;
};
void add_conditions(report::HtmlPage& page, const StudyConditions& conditions);

}  // namespace longspan::tool
