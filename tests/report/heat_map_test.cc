#include "longspan/report/heat_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "count.h"

namespace longspan::report {
namespace {

HeatMapPicture picture() {
  HeatMap map;
  map.title = "<slots>";
  map.rows = 2;
  map.columns = 3;
  map.values = {1, 1, 0, -0.5, NAN, -0.5};
  map.groups = {"head 0"};
  map.labels = {"a", "\n", "<"};
  return {"title & more", {"a line"}, {map}};
}

TEST(HeatMap, StrengthAndSignOfEveryCell) {
  const std::string svg = to_svg(picture());
  // Two neighbours of one value are one stroke of two cells; zero and NaN are not drawn.
  EXPECT_EQ(count(svg, "class=\"above\""), 1);
  EXPECT_EQ(count(svg, "class=\"below\""), 1);
  EXPECT_EQ(count(svg, "M"), 3);
  EXPECT_NE(svg.find("class=\"above\" stroke-width=\"14.0\" stroke-opacity=\"1.000\""), std::string::npos);
  EXPECT_NE(svg.find("class=\"below\" stroke-width=\"14.0\" stroke-opacity=\"0.500\""), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(HeatMap, AFewExtremesDoNotPaleTheRest) {
  HeatMapPicture p = picture();
  HeatMap& map = p.maps[0];
  map.rows = 1;
  map.columns = 100;
  map.labels.clear();
  map.values.assign(100, 0.25);
  map.values[7] = 1000;
  map.values[8] = INFINITY;
  const std::string svg = to_svg(p);
  EXPECT_EQ(count(svg, "<path"), 1) << "all in full colour";
  EXPECT_NE(svg.find("full colour from 0.25"), std::string::npos) << "no sign where nothing is negative";
  map.values[9] = -0.25;
  EXPECT_NE(to_svg(p).find("full colour from \xC2\xB1"
                           "0.25"),
            std::string::npos);
}

TEST(HeatMap, IsSafeAndSelfContained) {
  const std::string svg = to_svg(picture());
  EXPECT_EQ(svg.find("var("), std::string::npos) << "what is no browser may know no variables";
  EXPECT_NE(svg.find("&lt;slots&gt;"), std::string::npos);
  EXPECT_NE(svg.find("title &amp; more"), std::string::npos);
  EXPECT_NE(svg.find(">&lt;</text>"), std::string::npos) << "the text's own character";
  EXPECT_NE(svg.find(">\xE2\x86\xB5</text>"), std::string::npos) << "a line break is shown";
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_EQ(count(svg, "http"), 1) << "the name space alone";
}

TEST(HeatMap, ZeroEverywhereIsStillAPicture) {
  HeatMapPicture p = picture();
  p.maps[0].values.assign(6, 0);
  const std::string svg = to_svg(p);
  EXPECT_EQ(count(svg, "<path"), 0);
  EXPECT_NE(svg.find("all zero"), std::string::npos);
}

}  // namespace
}  // namespace longspan::report
