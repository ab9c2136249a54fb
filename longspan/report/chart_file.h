// A line chart as a picture of its own.
#pragma once

#include <string>
#include <vector>

#include "longspan/report/chart.h"

namespace longspan::report {

/// An SVG file: the chart under its title, on paper. Colours stand in it as they are, for programs that know no style
/// variables; `lines` are written below the title.
std::string to_svg_file(const LineChart& chart, const std::vector<std::string>& lines = {});

}  // namespace longspan::report
