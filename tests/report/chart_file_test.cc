#include "longspan/report/chart_file.h"

#include <gtest/gtest.h>

#include <string>

#include "count.h"

namespace longspan::report {
namespace {

TEST(ChartFile, StandsAlone) {
  LineChart chart;
  chart.title = "a < b";
  chart.x_label = "x";
  chart.series = {{"one", {{1, 1}, {2, 4}}}, {"two", {{1, 2}, {2, 3}}}};
  chart.y_marks = {{2, "two"}};
  const std::string svg = to_svg_file(chart, {"a line & more"});
  EXPECT_EQ(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\" ", 0), 0u);
  EXPECT_EQ(count(svg, "<svg "), 2);
  EXPECT_EQ(count(svg, "</svg>"), 2);
  EXPECT_EQ(count(svg, "var("), 0) << "programs that know no variables read it";
  EXPECT_EQ(count(svg, "a &lt; b</text>"), 1);
  EXPECT_EQ(count(svg, "a line &amp; more"), 1);
  EXPECT_GT(count(svg, "#0b5cad"), 0);
}

TEST(ChartFile, SaysThatThereIsNothing) { EXPECT_EQ(count(to_svg_file({}), "no data"), 1); }

}  // namespace
}  // namespace longspan::report
