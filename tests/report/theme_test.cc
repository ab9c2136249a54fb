#include "longspan/report/theme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace longspan::report {
namespace {

/// Relative luminance of "#rrggbb", WCAG 2.
double luminance(const std::string& colour) {
  const double weights[] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

TEST(Theme, TextIsLegible) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-12);
  for (const Theme* theme : {&kLight, &kDark})
    for (const char* background : {theme->paper, theme->band}) {
      EXPECT_GE(contrast(theme->ink, background), 7) << theme->ink << " on " << background;
      EXPECT_GE(contrast(theme->soft, background), 4.5) << theme->soft << " on " << background;
      for (const char* series : theme->series)
        EXPECT_GE(contrast(series, background), 4.5) << series << " on " << background;
    }
}

TEST(Theme, DarkIsDarkAndLightIsLight) {
  EXPECT_GT(luminance(kLight.paper), 0.8);
  EXPECT_LT(luminance(kDark.paper), 0.05);
}

}  // namespace
}  // namespace longspan::report
