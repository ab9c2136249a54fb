// Line charts as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace longspan::report {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< ascending x; points that are not finite are left out
  /// Drawn dashed and without marks, joined to the last of `points`: a continuation that was computed, not measured.
  std::vector<std::pair<double, double>> extrapolated;
};

struct LineChart {
  std::string title, x_label, y_label;
  bool x_log = false, y_log = false;  ///< logarithmic axes leave out values <= 0
  bool x_lengths = false;             ///< x values are token counts: ticks at the data's own values, labelled 1K, 64K
  std::vector<Series> series;
};

/// An <svg> element that takes its colours from the page's custom properties --ink, --grid and --series-1.. (HtmlPage
/// defines them for both themes). A chart without a point says "no data".
std::string to_svg(const LineChart& chart);

/// How many --series-N colours there are; later series start again.
inline constexpr int kSeriesColours = 6;

}  // namespace longspan::report
