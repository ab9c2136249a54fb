#include "longspan/report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "count.h"
#include "longspan/report/chart_axis.h"

namespace longspan::report {
namespace {

LineChart two_lines() {
  LineChart chart;
  chart.title = "time";
  chart.x_log = chart.y_log = chart.x_lengths = true;
  chart.series = {{"lavo", {{1024, 1.0}, {4096, 1.0}}, {}}, {"softmax", {{1024, 2.0}, {4096, 8.0}}, {{65536, 128.0}}}};
  return chart;
}

/// Marks of measured points: circles of the first series, squares of the second.
int marks(const std::string& svg) { return count(svg, "<circle") + count(svg, "<rect"); }

TEST(Chart, MeasuredIsSolidAndExtrapolatedIsDashedWithoutMarks) {
  const std::string svg = to_svg(two_lines());
  EXPECT_EQ(count(svg, "<circle"), 2);
  EXPECT_EQ(count(svg, "<rect"), 2) << "series differ by more than colour";
  EXPECT_EQ(count(svg, "<path"), 3);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1);
  EXPECT_NE(svg.find(">64K<"), std::string::npos);
  EXPECT_NE(svg.find(">softmax<"), std::string::npos);
}

TEST(Chart, LeavesOutWhatCannotBeDrawn) {
  LineChart chart = two_lines();
  chart.series[0].points.push_back({8192, std::numeric_limits<double>::quiet_NaN()});
  chart.series[0].points.push_back({16384, 0});  // logarithmic axis
  chart.series[0].band = {{1024, -1, 1}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(marks(svg), 4);
  EXPECT_EQ(count(svg, "class=\"spread\""), 0);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Chart, OnePointAndNoPoint) {
  LineChart chart;
  EXPECT_NE(to_svg(chart).find("no data"), std::string::npos);
  chart.series = {{"a", {{1, 0}}, {}}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(marks(svg), 1);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Chart, SpreadLiesBehindTheLinesAndInsideThePlot) {
  LineChart chart = two_lines();
  chart.series[1].band = {{1024, 1.5, 2.5}, {4096, 6, 100}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "class=\"spread\""), 1);
  EXPECT_LT(svg.find("class=\"spread\""), svg.find("stroke-width=\"2.2\""));
  // Up along the upper edge, back along the lower one: four corners, closed.
  const std::string d = svg.substr(svg.find("class=\"spread\""));
  EXPECT_EQ(count(d.substr(0, d.find('Z')), "L"), 3);
  EXPECT_NE(svg, to_svg(two_lines()));
}

TEST(Chart, MarksOutsideTheDataAreLeftOut) {
  LineChart chart = two_lines();
  chart.x_marks = {{2048, "even here"}, {1e9, "far away"}};
  chart.y_marks = {{3, "yardstick"}};
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find(">even here<"), std::string::npos);
  EXPECT_EQ(svg.find(">far away<"), std::string::npos);
  EXPECT_NE(svg.find(">yardstick<"), std::string::npos);
  EXPECT_EQ(count(svg, "class=\"upright\""), 1);
}

TEST(Chart, TextsOfLevelsThatLieCloseDoNotMeet) {
  LineChart chart = two_lines();
  chart.y_marks = {{3, "first"}, {3.01, "second"}, {3.005, "third"}};
  const std::string svg = to_svg(chart);
  std::vector<double> heights;
  for (const char* name : {">second<", ">third<", ">first<"}) {  // from the top down
    const std::size_t end = svg.find(name);
    ASSERT_NE(end, std::string::npos) << name;
    heights.push_back(std::stod(svg.substr(svg.rfind(" y=\"", end) + 4)));
  }
  EXPECT_GE(heights[1] - heights[0], 15);  // of letters 12 high
  EXPECT_GE(heights[2] - heights[1], 15);
}

TEST(Chart, NarrowHasTheNamesBelow) {
  LineChart chart = two_lines();
  const auto height = [&] {
    const std::string svg = to_svg(chart, ChartSize::narrow);
    const std::size_t from = svg.find("viewBox=\"0 0 400.0 ") + 19;
    return std::stod(svg.substr(from));
  };
  const double one_row = height();
  chart.series.push_back({"a name so long that the row cannot hold it too", {{1024, 1}, {4096, 1}}});
  EXPECT_GT(height(), one_row);
  for (const char* name : {">lavo<", ">softmax<"}) EXPECT_EQ(count(to_svg(chart, ChartSize::narrow), name), 1) << name;
}

TEST(Chart, AnAxisFromZero) {
  LineChart chart;
  chart.series = {{"a", {{1, 18}, {2, 20}}}};
  EXPECT_EQ(to_svg(chart).find(">0<"), std::string::npos);
  chart.y_from_zero = true;
  EXPECT_NE(to_svg(chart).find(">0<"), std::string::npos);
}

TEST(Chart, ValuesThatOnlyRoundingTellsApartAreOne) {
  for (const bool logarithmic : {false, true})
    for (const double value : {3e-4, 1.0, 7e9}) {
      ChartAxis axis(logarithmic, 0, 100);
      axis.include(value);
      axis.include(std::nextafter(value, 1e10));
      axis.widen(0.02);
      const std::vector<double> ticks = axis.ticks(5);
      EXPECT_GE(ticks.size(), 2u) << value;
      EXPECT_LE(ticks.size(), 20u) << value;
      EXPECT_GE(ticks.front(), 0) << value;
      EXPECT_LE(ticks.back(), 2.001 * value) << value;  // ticks are rounded
    }
}

TEST(Chart, TicksAreRoundAndFew) {
  ChartAxis axis(true, 0, 100);
  for (const double value : {0.5, 3e7}) axis.include(value);
  EXPECT_EQ(axis.ticks(5), (std::vector<double>{1, 100, 1e4, 1e6}));
  ChartAxis narrow(true, 0, 100);  // within a decade powers of ten would say too little
  for (const double value : {2.0, 8.0}) narrow.include(value);
  EXPECT_EQ(narrow.ticks(5), (std::vector<double>{2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(tick_label(1500000), "1.5M");
  EXPECT_EQ(tick_label(9000), "9000");
  EXPECT_EQ(tick_label(0.0030), "0.003");
}

TEST(Chart, SmallValuesHaveShortTicks) {
  EXPECT_EQ(tick_label(0.0001), "0.0001");
  EXPECT_EQ(tick_label(0.00001), "1e-05");
  EXPECT_EQ(tick_label(-0.000005), "-5e-06");
  EXPECT_EQ(tick_label(0.01234), "0.01234");  // a power would be longer
}

TEST(Chart, WhatIsCountedHasNoTicksBetween) {
  LineChart chart;
  chart.series = {{"a", {{0, 18}, {1, 19}, {3, 20}}}};
  EXPECT_EQ(to_svg(chart).find(">0.5<"), std::string::npos);
  chart.series[0].points[1].first = 0.75;
  EXPECT_NE(to_svg(chart).find(">0.5<"), std::string::npos);
}

TEST(Chart, SaysInWordsWhatItShows) {
  LineChart chart = two_lines();
  chart.x_label = "tokens";
  chart.y_label = "seconds";
  EXPECT_EQ(
      description(chart),
      "time. Line chart of seconds against tokens. lavo: from 1.00 at 1K to 1.00 at 4K. softmax: from 2.00 at 1K to "
      "8.00 at 4K.");
  EXPECT_NE(to_svg(chart).find("aria-label=\"time. Line chart"), std::string::npos);
}

TEST(Chart, EscapesNames) {
  LineChart chart = two_lines();
  chart.series[0].name = "<script>";
  EXPECT_EQ(to_svg(chart).find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace longspan::report
