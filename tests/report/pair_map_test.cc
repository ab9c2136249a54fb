#include "longspan/report/pair_map.h"

#include <gtest/gtest.h>

#include <string>

#include "count.h"

namespace longspan::report {
namespace {

PairMap map() {
  return {"a < b", {"a line"}, 40, 2, {{"window", {1, 1, 0, 0.25}}, {"none", {0, 0, 0, 0}}, {"rest", {0, 0, 1e-9, 0}}}};
}

TEST(PairMap, CellsByKindAndStrength) {
  const std::string svg = to_svg(map());
  // Two full neighbours are one rectangle; a quarter of the pairs has half the strength.
  EXPECT_NE(svg.find("<path class=\"k0\" fill-opacity=\"1.000\" d=\"M0 0h2v1h-2\"/>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<path class=\"k0\" fill-opacity=\"0.500\" d=\"M1 1h1v1h-1\"/>"), std::string::npos) << svg;
  // However few the pairs of a cell are, they are drawn.
  EXPECT_NE(svg.find("<path class=\"k2\" fill-opacity=\"0.125\" d=\"M0 1h1v1h-1\"/>"), std::string::npos) << svg;
  EXPECT_EQ(count(svg, "<path"), 3);
}

TEST(PairMap, LegendNamesWhatIsThere) {
  const std::string svg = to_svg(map());
  EXPECT_EQ(count(svg, ">window<"), 1);
  EXPECT_EQ(count(svg, ">rest<"), 1);
  EXPECT_EQ(count(svg, ">none<"), 0);
  EXPECT_EQ(count(svg, "0 to 39"), 1);
  EXPECT_EQ(count(svg, "a < b"), 0);
  EXPECT_EQ(count(svg, "a &lt; b"), 2);
}

TEST(PairMap, NoTokens) {
  const std::string svg = to_svg(PairMap{"empty", {}, 0, 0, {{"window", {}}}});
  EXPECT_EQ(count(svg, "<path"), 0);
  EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0);
}

}  // namespace
}  // namespace longspan::report
