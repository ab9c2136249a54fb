#include "longspan/report/chart.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "longspan/report/format.h"
#include "longspan/report/html.h"

namespace longspan::report {

namespace {

// Size of the drawing in SVG units and the plot's margins in it; the right one holds the names of the series.
constexpr double kWidth = 760, kHeight = 380, kLeft = 64, kRight = 150, kTop = 34, kBottom = 48;
constexpr double kLabelDistance = 16;   // least vertical distance of two names
constexpr std::size_t kMostMarks = 20;  // longer series are lines without marks

/// One axis: values to drawing units.
class Axis {
 public:
  Axis(bool logarithmic, double from, double to) : log_(logarithmic), from_(from), to_(to) {}

  bool shows(double value) const { return std::isfinite(value) && (!log_ || value > 0); }
  void include(double value) {
    if (!shows(value)) return;
    low_ = empty_ ? value : std::min(low_, value);
    high_ = empty_ ? value : std::max(high_, value);
    empty_ = false;
  }
  bool empty() const { return empty_; }
  double low() const { return low_; }
  double high() const { return high_; }

  /// Room beyond the extreme values; an axis of one value gets some too.
  void widen(double share) {
    const double low = place(low_), high = place(high_);
    const double margin = high > low ? share * (high - low) : (log_ ? 0.1 : std::max(std::abs(low) * 0.1, 0.5));
    low_ = value(low - margin);
    high_ = value(high + margin);
  }
  double position(double v) const {
    return from_ + (place(v) - place(low_)) / (place(high_) - place(low_)) * (to_ - from_);
  }

  /// Round values inside the range: 1, 2, 5 times powers of ten (logarithmic over more than two decades: powers of
  /// ten).
  std::vector<double> ticks() const {
    std::vector<double> out;
    if (log_) {
      const double decades = std::log10(high_ / low_);
      for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10)
        for (const double factor : {1.0, 2.0, 5.0}) {
          if (decades > 2 && factor != 1) continue;
          if (factor * power >= low_ && factor * power <= high_) out.push_back(factor * power);
        }
      if (out.size() >= 2) return out;
      out.clear();
    }
    const double rough = (high_ - low_) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10);
    for (double tick = std::ceil(low_ / step) * step; tick <= high_ + 1e-9 * step; tick += step)
      out.push_back(std::abs(tick) < 1e-9 * step ? 0 : tick);
    return out;
  }

 private:
  double place(double v) const { return log_ ? std::log10(v) : v; }
  double value(double p) const { return log_ ? std::pow(10, p) : p; }

  bool log_;
  double from_, to_, low_ = 0, high_ = 0;
  bool empty_ = true;
};

std::string at(double value) { return fixed(value, 1); }

std::string tick_label(double value) {
  std::string text = significant(value, 4);
  if (text.find('.') != std::string::npos && text.find('e') == std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return "<line x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\" stroke=\"var(" +
         colour + ")\"/>\n";
}

std::string label(double x, double y, const char* anchor, const std::string& text, const std::string& extra = "") {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\"" + extra + ">" + escape(text) +
         "</text>\n";
}

using Points = std::vector<std::pair<double, double>>;

std::string path(const Points& points, const Axis& x, const Axis& y, const std::string& colour, bool dashed) {
  std::string d;
  for (const auto& [px, py] : points) d += (d.empty() ? "M" : " L") + at(x.position(px)) + " " + at(y.position(py));
  return "<path d=\"" + d + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"2\"" +
         (dashed ? " stroke-dasharray=\"6 5\"" : "") + "/>\n";
}

Points visible(const Points& points, const Axis& x, const Axis& y) {
  Points out;
  for (const auto& point : points)
    if (x.shows(point.first) && y.shows(point.second)) out.push_back(point);
  return out;
}

struct EndLabel {
  double wanted, placed;
  std::string text, colour;
};

/// Names of the series at the ends of their lines, pushed apart where they would overlap.
std::string end_labels(std::vector<EndLabel> labels) {
  std::sort(labels.begin(), labels.end(), [](const EndLabel& a, const EndLabel& b) { return a.wanted < b.wanted; });
  double lowest = kTop;
  for (EndLabel& l : labels) {
    l.placed = std::max(l.wanted, lowest);
    lowest = l.placed + kLabelDistance;
  }
  double highest = kHeight - kBottom;
  for (auto l = labels.rbegin(); l != labels.rend(); ++l) {
    l->placed = std::min(l->placed, highest);
    highest = l->placed - kLabelDistance;
  }
  std::string out;
  for (const EndLabel& l : labels)
    out += "<g style=\"fill:" + l.colour + "\">" +
           label(kWidth - kRight + 10, l.placed + 4, "start", l.text, " style=\"fill:inherit;font-weight:600\"") +
           "</g>\n";
  return out;
}

std::string axes(const LineChart& chart, const Axis& x, const Axis& y) {
  const double right = kWidth - kRight, bottom = kHeight - kBottom;
  std::string out;
  for (const double tick : y.ticks()) {
    const double height = y.position(tick);
    out += line(kLeft, height, right, height, "--grid") + label(kLeft - 8, height + 4, "end", tick_label(tick));
  }
  std::vector<double> ticks;
  if (chart.x_lengths) {
    std::set<double> values;
    for (const Series& series : chart.series)
      for (const auto* points : {&series.points, &series.extrapolated})
        for (const auto& point : *points)
          if (x.shows(point.first)) values.insert(point.first);
    double last = -1e9;
    for (const double value : values)
      if (x.position(value) - last >= 34) {
        ticks.push_back(value);
        last = x.position(value);
      }
  } else {
    ticks = x.ticks();
  }
  for (const double tick : ticks) {
    const double place = x.position(tick);
    out += line(place, bottom, place, bottom + 5, "--ink") +
           label(place, bottom + 19, "middle",
                 chart.x_lengths ? length_label(static_cast<int64_t>(tick)) : tick_label(tick));
  }
  out += line(kLeft, bottom, right, bottom, "--ink");
  out += label((kLeft + right) / 2, kHeight - 8, "middle", chart.x_label);
  out += label(kLeft - 50, kTop - 14, "start", chart.y_label);
  return out;
}

}  // namespace

std::string to_svg(const LineChart& chart) {
  Axis x(chart.x_log, kLeft, kWidth - kRight), y(chart.y_log, kHeight - kBottom, kTop);
  for (const Series& series : chart.series)
    for (const auto* points : {&series.points, &series.extrapolated})
      for (const auto& [px, py] : *points)
        if (x.shows(px) && y.shows(py)) {
          x.include(px);
          y.include(py);
        }

  std::string out =
      "<svg viewBox=\"0 0 " + at(kWidth) + " " + at(kHeight) + "\" role=\"img\" aria-label=\"" + escape(chart.title) +
      "\" font-size=\"12.5\" font-family=\"system-ui, sans-serif\">\n<style>svg text { fill: var(--ink); }</style>\n";
  out += label(kWidth - kRight, kTop - 14, "end", chart.title, " font-weight=\"600\"");
  if (x.empty()) return out + label(kWidth / 2, kHeight / 2, "middle", "no data") + "</svg>\n";
  x.widen(0.02);
  y.widen(0.06);
  out += axes(chart, x, y);

  std::vector<EndLabel> names;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const std::string colour = "var(--series-" + std::to_string(i % kSeriesColours + 1) + ")";
    const Points measured = visible(series.points, x, y);
    Points further = visible(series.extrapolated, x, y);
    if (measured.empty() && further.empty()) continue;
    if (!measured.empty()) out += path(measured, x, y, colour, false);
    if (!further.empty()) {
      if (!measured.empty()) further.insert(further.begin(), measured.back());
      out += path(further, x, y, colour, true);
    }
    for (const auto& [px, py] : measured.size() <= kMostMarks ? measured : Points())
      out += "<circle cx=\"" + at(x.position(px)) + "\" cy=\"" + at(y.position(py)) + "\" r=\"3.5\" fill=\"" + colour +
             "\"><title>" +
             escape(series.name + ", " + (chart.x_lengths ? length_label(static_cast<int64_t>(px)) : tick_label(px)) +
                    ": " + significant(py, 5)) +
             "</title></circle>\n";
    const double end = y.position(further.empty() ? measured.back().second : further.back().second);
    names.push_back({end, end, series.name, colour});
  }
  return out + end_labels(std::move(names)) + "</svg>\n";
}

}  // namespace longspan::report
