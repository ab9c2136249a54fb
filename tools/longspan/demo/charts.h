// The charts of the demo's page.
#pragma once

#include <string>

#include "longspan/report/chart.h"
#include "plan.h"
#include "results.h"

namespace longspan::tool {

/// Bits per byte by length of context, with the range over seeds where there are several, and what compressors need.
report::LineChart quality_chart(const DemoPlan& plan, const DemoResults& results);

/// Bits per byte of training windows. The band is the range over seeds where there are several, else one standard
/// deviation of a single step's loss.
report::LineChart training_chart(const DemoPlan& plan, const DemoResults& results);
std::string training_caption(const DemoPlan& plan, const DemoResults& results);

/// How a cost by length is drawn.
struct CostChart {
  std::string title, y_label;
  double unit = 1;         ///< of the axis, in the measured unit
  bool from_zero = false;  ///< a plain axis from 0 instead of a logarithmic one
};
/// With the length at which LAVO breaks even; softmax is continued, dashed, where it was not measured.
report::LineChart cost_chart(const DemoPlan& plan, const Costs& costs, const CostChart& how);

}  // namespace longspan::tool
