// Line charts as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace longspan::report {

using Points = std::vector<std::pair<double, double>>;

/// From `low` to `high` at x.
struct Interval {
  double x = 0, low = 0, high = 0;
};

struct Series {
  std::string name;
  Points points = {};  ///< ascending x; points that are not finite are left out
  /// Drawn dashed and without marks, joined to the last of `points`: a continuation that was computed, not measured.
  Points extrapolated = {};
  std::vector<Interval> band = {};  ///< a pale area behind the line, ascending x: the spread of what the line averages
};

/// A value that deserves a line of its own across the plot: a length of break-even, a yardstick.
struct Mark {
  double value = 0;
  std::string text = {};
};

struct LineChart {
  std::string title = {}, x_label = {}, y_label = {};  ///< labels with their units
  bool x_log = false, y_log = false;                   ///< logarithmic axes leave out values <= 0
  bool y_from_zero = false;                            ///< the plain y axis begins at 0
  bool x_lengths = false;  ///< x values are token counts: ticks at the data's own values, labelled 1K, 64K
  std::vector<Series> series = {};
  std::vector<Mark> x_marks = {};  ///< upright dashed lines; those outside the data are left out
  std::vector<Mark> y_marks = {};  ///< level dotted lines
};

/// wide: a column of text, names at the ends of the lines. narrow: a phone or half a column, names below the plot.
enum class ChartSize { wide, narrow };

/// An <svg> element of class "chart" that takes its colours from the page's custom properties --paper, --ink, --soft,
/// --grid and --series-1.. and its text from the page's styles (HtmlPage defines them for both themes). The title is
/// not drawn: it stands above, in the page. A chart without a point says "no data".
std::string to_svg(const LineChart& chart, ChartSize size = ChartSize::wide);

/// What the chart shows in a sentence or two, for readers who do not see it: axes, and where each line begins and ends.
std::string description(const LineChart& chart);

/// How many --series-N colours there are; later series start again.
inline constexpr int kSeriesColours = 6;

}  // namespace longspan::report
