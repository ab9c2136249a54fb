#include "longspan/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "longspan/base/check.h"
#include "longspan/report/chart_axis.h"
#include "longspan/report/format.h"
#include "longspan/report/html.h"

namespace longspan::report {

namespace {

// In SVG units, which are about the reader's pixels.
constexpr double kLetter = 8.6;         // mean width of a letter of the names, in a wide font
constexpr double kLabelDistance = 17;   // least vertical distance of two names
constexpr double kLegendRow = 22;       // height of a row of names below the plot
constexpr double kSwatch = 22;          // the bit of line in front of a name there
constexpr std::size_t kMostMarks = 24;  // longer series are lines without marks

std::string at(double value) { return fixed(value, 1); }

std::string colour_of(std::size_t series) { return str_cat("var(--series-", series % kSeriesColours + 1, ")"); }

double width_of(const std::string& name) { return kLetter * static_cast<double>(characters(name)); }

std::string line(double x1, double y1, double x2, double y2, const std::string& stroke) {
  return str_cat("<line x1=\"", at(x1), "\" y1=\"", at(y1), "\" x2=\"", at(x2), "\" y2=\"", at(y2), "\" ", stroke,
                 "/>\n");
}

std::string label(double x, double y, const char* anchor, const std::string& text, const std::string& extra = "") {
  return str_cat("<text x=\"", at(x), "\" y=\"", at(y), "\" text-anchor=\"", anchor, "\"", extra, ">", escape(text),
                 "</text>\n");
}

std::string name_label(double x, double y, const std::string& name, const std::string& colour) {
  return label(x, y, "start", name, str_cat(" class=\"name\" style=\"fill:", colour, "\""));
}

/// Circle, square or triangle, so that series differ by more than colour.
std::string marker(std::size_t series, double x, double y) {
  switch (series % 3) {
    case 0:
      return str_cat("<circle cx=\"", at(x), "\" cy=\"", at(y), "\" r=\"4\"");
    case 1:
      return str_cat("<rect x=\"", at(x - 3.6), "\" y=\"", at(y - 3.6), "\" width=\"7.2\" height=\"7.2\"");
    default:
      return str_cat("<path d=\"M", at(x), " ", at(y - 4.8), "l4.6 8h-9.2z\"");
  }
}

Points visible(const Points& points, const ChartAxis& x, const ChartAxis& y) {
  Points out;
  for (const auto& point : points)
    if (x.shows(point.first) && y.shows(point.second)) out.push_back(point);
  return out;
}

/// Where the plot lies in the drawing.
struct Frame {
  double width, height, left, right, top, bottom;
  double legend_top;  ///< of names below; 0: at the ends of the lines
  int x_ticks, y_ticks;
};

class Drawing {
 public:
  Drawing(const LineChart& chart, ChartSize size)
      : chart_(chart),
        frame_(size == ChartSize::wide ? wide() : narrow()),
        x_(chart.x_log, frame_.left, frame_.right),
        y_(chart.y_log, frame_.bottom, frame_.top) {
    for (const Series& series : chart.series) {
      for (const auto* points : {&series.points, &series.extrapolated})
        for (const auto& [px, py] : *points) include(px, py);
      for (const Interval& interval : series.band) {
        include(interval.x, interval.low);
        include(interval.x, interval.high);
      }
    }
    if (x_.empty()) return;
    for (const Mark& mark : chart.y_marks) y_.include(mark.value);
    x_.widen(0.02);
    y_.widen(0.06);
    if (chart.y_from_zero && !chart.y_log) y_.begin_at_zero();
  }

  std::string svg() const {
    std::string out = str_cat("<svg class=\"chart\" viewBox=\"0 0 ", at(frame_.width), " ", at(frame_.height),
                              "\" role=\"img\" aria-label=\"", escape(description(chart_)), "\">\n");
    if (x_.empty())
      return out + label(frame_.width / 2, frame_.height / 2, "middle", "no data", " class=\"soft\"") + "</svg>\n";
    out += axes();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) out += band(i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) out += series(i);
    return out + marks() + (frame_.legend_top > 0 ? legend() : end_labels()) + "</svg>\n";
  }

 private:
  Frame wide() const {
    double names = 16;
    for (const Series& series : chart_.series) names = std::max(names, width_of(series.name) + 24);
    return {900, 400, 62, 900 - names, 30, 348, 0, 8, 6};
  }
  Frame narrow() const {
    Frame frame = {400, 0, 58, 388, 32, 260, 326, 4, 5};
    frame.height = frame.legend_top + kLegendRow * static_cast<double>(legend_rows(frame)) - 8;
    return frame;
  }

  /// Calls `put` with the place of every name of the legend; returns the number of rows.
  template <class Put>
  std::size_t lay_out_legend(const Frame& frame, const Put& put) const {
    double x = frame.left;
    std::size_t row = 0;
    bool any = false;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const std::string& name = chart_.series[i].name;
      if (name.empty()) continue;
      const double width = kSwatch + 6 + width_of(name) + 16;
      if (any && x + width > frame.width) {
        ++row;
        x = frame.left;
      }
      put(i, x, frame.legend_top + kLegendRow * static_cast<double>(row));
      x += width;
      any = true;
    }
    return any ? row + 1 : 0;
  }
  std::size_t legend_rows(const Frame& frame) const {
    return lay_out_legend(frame, [](std::size_t, double, double) {});
  }
  std::string legend() const {
    std::string out;
    lay_out_legend(frame_, [&](std::size_t i, double x, double y) {
      const std::string colour = colour_of(i);
      out += line(x, y - 4, x + kSwatch, y - 4, str_cat("stroke=\"", colour, "\" stroke-width=\"2.4\""));
      if (has_markers(chart_.series[i]))
        out += str_cat(marker(i, x + kSwatch / 2, y - 4), " fill=\"", colour, "\"/>\n");
      out += name_label(x + kSwatch + 6, y, chart_.series[i].name, colour);
    });
    return out;
  }

  void include(double x, double y) {
    if (!x_.shows(x) || !y_.shows(y)) return;
    x_.include(x);
    y_.include(y);
  }

  static bool has_markers(const Series& series) { return series.points.size() <= kMostMarks; }

  std::vector<double> x_ticks() const {
    std::set<double> values;
    for (const Series& series : chart_.series)
      for (const auto* points : {&series.points, &series.extrapolated})
        for (const auto& point : *points)
          if (x_.shows(point.first)) values.insert(point.first);
    if (!chart_.x_lengths) {
      const auto whole = [](double value) { return value == std::round(value); };
      return x_.ticks(frame_.x_ticks, std::all_of(values.begin(), values.end(), whole));
    }
    std::vector<double> out;
    for (const double value : values)
      if (out.empty() || x_.position(value) - x_.position(out.back()) >= 38) out.push_back(value);
    return out;
  }
  std::string x_text(double x) const {
    return chart_.x_lengths ? length_label(static_cast<int64_t>(std::llround(x))) : tick_label(x);
  }

  std::string axes() const {
    std::string out;
    for (const double tick : y_.ticks(frame_.y_ticks)) {
      const double height = y_.position(tick);
      out += line(frame_.left, height, frame_.right, height, "stroke=\"var(--grid)\"");
      out += label(frame_.left - 9, height + 4.5, "end", tick_label(tick));
    }
    for (const double tick : x_ticks()) {
      const double place = x_.position(tick);
      out += line(place, frame_.bottom, place, frame_.bottom + 5, "stroke=\"var(--soft)\"");
      out += label(place, frame_.bottom + 20, "middle", x_text(tick));
    }
    out += line(frame_.left, frame_.bottom, frame_.right, frame_.bottom, "stroke=\"var(--soft)\"");
    out += label((frame_.left + frame_.right) / 2, frame_.bottom + 40, "middle", chart_.x_label, " class=\"soft\"");
    return out + label(0, 14, "start", chart_.y_label, " class=\"soft\"");
  }

  std::string band(std::size_t i) const {
    std::string forth, back;
    for (const Interval& interval : chart_.series[i].band) {
      if (!x_.shows(interval.x) || !y_.shows(interval.low) || !y_.shows(interval.high)) continue;
      const std::string x = at(x_.position(interval.x));
      forth += str_cat(forth.empty() ? "M" : "L", x, " ", at(y_.position(interval.high)));
      back = str_cat("L", x, " ", at(y_.position(interval.low)), back);
    }
    if (forth.empty()) return "";
    return str_cat("<path class=\"spread\" d=\"", forth, back, "Z\" fill=\"", colour_of(i), "\"/>\n");
  }

  std::string path(const Points& points, const std::string& colour, bool dashed) const {
    std::string d;
    for (const auto& [px, py] : points)
      d += str_cat(d.empty() ? "M" : "L", at(x_.position(px)), " ", at(y_.position(py)));
    return str_cat("<path d=\"", d, "\" fill=\"none\" stroke=\"", colour,
                   "\" stroke-width=\"2.2\" stroke-linejoin=\"round\"", dashed ? " stroke-dasharray=\"6 5\"" : "",
                   "/>\n");
  }

  std::string series(std::size_t i) const {
    const Series& series = chart_.series[i];
    const std::string colour = colour_of(i);
    const Points measured = visible(series.points, x_, y_);
    Points further = visible(series.extrapolated, x_, y_);
    std::string out;
    if (!measured.empty()) out += path(measured, colour, false);
    if (!further.empty()) {
      if (!measured.empty()) further.insert(further.begin(), measured.back());
      out += path(further, colour, true);
    }
    for (const auto& [px, py] : has_markers(series) ? measured : Points())
      out +=
          str_cat(marker(i, x_.position(px), y_.position(py)), " fill=\"", colour, "\"><title>",
                  escape(str_cat(series.name, series.name.empty() ? "" : ", ", x_text(px), ": ", significant(py, 5))),
                  i % 3 == 0   ? "</title></circle>\n"
                  : i % 3 == 1 ? "</title></rect>\n"
                               : "</title></path>\n");
    return out;
  }

  std::string marks() const {
    std::string out;
    // From the top down; a text stands above its line, or below it where the text of the mark before is in the way.
    std::vector<Mark> levels = chart_.y_marks;
    std::erase_if(levels, [&](const Mark& mark) { return !y_.holds(mark.value); });
    std::stable_sort(levels.begin(), levels.end(), [](const Mark& a, const Mark& b) { return a.value > b.value; });
    double last = -kLabelDistance;
    for (const Mark& mark : levels) {
      const double y = y_.position(mark.value);
      out += line(frame_.left, y, frame_.right, y, "class=\"level\"");
      last = y - 5 >= last + kLabelDistance ? y - 5 : std::max(y + 14, last + kLabelDistance);
      out += label(frame_.right - 6, last, "end", mark.text, " class=\"note\"");
    }
    double row = frame_.top + 8;
    for (const Mark& mark : chart_.x_marks) {
      if (!x_.holds(mark.value)) continue;
      const double x = x_.position(mark.value);
      const bool left_half = x < (frame_.left + frame_.right) / 2;
      out += line(x, frame_.top - 6, x, frame_.bottom, "class=\"upright\"");
      out += label(x + (left_half ? 6 : -6), row, left_half ? "start" : "end", mark.text, " class=\"note\"");
      row += kLabelDistance;
    }
    return out;
  }

  /// Names of the series at the ends of their lines, pushed apart where they would overlap.
  std::string end_labels() const {
    struct EndLabel {
      double wanted, placed;
      std::size_t series;
    };
    std::vector<EndLabel> labels;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const Points measured = visible(chart_.series[i].points, x_, y_);
      const Points further = visible(chart_.series[i].extrapolated, x_, y_);
      if (measured.empty() && further.empty()) continue;
      const double end = y_.position((further.empty() ? measured : further).back().second);
      labels.push_back({end, end, i});
    }
    std::sort(labels.begin(), labels.end(), [](const EndLabel& a, const EndLabel& b) { return a.wanted < b.wanted; });
    double lowest = frame_.top;
    for (EndLabel& l : labels) {
      l.placed = std::max(l.wanted, lowest);
      lowest = l.placed + kLabelDistance;
    }
    double highest = frame_.bottom;
    for (auto l = labels.rbegin(); l != labels.rend(); ++l) {
      l->placed = std::min(l->placed, highest);
      highest = l->placed - kLabelDistance;
    }
    std::string out;
    for (const EndLabel& l : labels)
      out += name_label(frame_.right + 12, l.placed + 4.5, chart_.series[l.series].name, colour_of(l.series));
    return out;
  }

  const LineChart& chart_;
  Frame frame_;
  ChartAxis x_, y_;
};

}  // namespace

std::string to_svg(const LineChart& chart, ChartSize size) { return Drawing(chart, size).svg(); }

std::string description(const LineChart& chart) {
  const auto x_text = [&](double x) {
    return chart.x_lengths ? length_label(static_cast<int64_t>(std::llround(x))) : tick_label(x);
  };
  std::string out = str_cat(chart.title, chart.title.empty() ? "" : ". ", "Line chart of ", chart.y_label, " against ",
                            chart.x_label, ".");
  for (const Series& series : chart.series) {
    const Points& points = series.points;
    if (points.empty()) continue;
    out += str_cat(" ", series.name, series.name.empty() ? "From " : ": from ", significant(points.front().second, 3),
                   " at ", x_text(points.front().first), " to ", significant(points.back().second, 3), " at ",
                   x_text(points.back().first), ".");
  }
  for (const auto* marks : {&chart.x_marks, &chart.y_marks})
    for (const Mark& mark : *marks) out += str_cat(" Marked: ", mark.text, ".");
  return out;
}

}  // namespace longspan::report
