// The demo's panel on recall.
#pragma once

#include <string>

#include "longspan/report/chart.h"
#include "longspan/report/table.h"
#include "plan.h"
#include "results.h"

namespace longspan::tool {

/// Accuracy by tokens of the row.
report::LineChart recall_chart(const DemoPlan& plan, const DemoResults& results);
report::Table recall_table(const DemoPlan& plan, const DemoResults& results);
/// Which of them know the answers at the longest row, and which guess.
std::string recall_sentence(const DemoPlan& plan, const DemoResults& results);

}  // namespace longspan::tool
