#include "longspan/report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "count.h"

namespace longspan::report {
namespace {

LineChart two_lines() {
  LineChart chart;
  chart.title = "time";
  chart.x_log = chart.y_log = chart.x_lengths = true;
  chart.series = {{"lavo", {{1024, 1.0}, {4096, 1.0}}, {}}, {"softmax", {{1024, 2.0}, {4096, 8.0}}, {{65536, 128.0}}}};
  return chart;
}

TEST(Chart, MeasuredIsSolidAndExtrapolatedIsDashedWithoutMarks) {
  const std::string svg = to_svg(two_lines());
  EXPECT_EQ(count(svg, "<circle"), 4);
  EXPECT_EQ(count(svg, "<path"), 3);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1);
  EXPECT_NE(svg.find(">64K<"), std::string::npos);
  EXPECT_NE(svg.find(">softmax<"), std::string::npos);
}

TEST(Chart, LeavesOutWhatCannotBeDrawn) {
  LineChart chart = two_lines();
  chart.series[0].points.push_back({8192, std::numeric_limits<double>::quiet_NaN()});
  chart.series[0].points.push_back({16384, 0});  // logarithmic axis
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "<circle"), 4);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Chart, OnePointAndNoPoint) {
  LineChart chart;
  EXPECT_NE(to_svg(chart).find("no data"), std::string::npos);
  chart.series = {{"a", {{1, 0}}, {}}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "<circle"), 1);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Chart, EscapesNames) {
  LineChart chart = two_lines();
  chart.series[0].name = "<script>";
  EXPECT_EQ(to_svg(chart).find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace longspan::report
