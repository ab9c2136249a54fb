#include "longspan/report/chart_file.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/html.h"
#include "longspan/report/theme.h"

namespace longspan::report {

namespace {

constexpr double kMargin = 16, kTitleHeight = 26, kLineHeight = 17;  // in SVG units

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// As a page styles a chart.
std::string rules() {
  return str_cat("text { fill: ", kLight.ink, "; } .soft { fill: ", kLight.soft,
                 "; } .name { font-weight: 600; } .spread { opacity: .2; } .note { fill: ", kLight.soft,
                 "; } .level { stroke: ", kLight.soft,
                 "; stroke-dasharray: 1 4; stroke-linecap: round; } .upright { stroke: ", kLight.soft,
                 "; stroke-dasharray: 5 4; }");
}

}  // namespace

std::string to_svg_file(const LineChart& chart, const std::vector<std::string>& lines) {
  std::string plot = to_svg(chart, ChartSize::wide);
  const std::string_view start = "viewBox=\"0 0 ";
  const std::size_t at = plot.find(start);
  LONGSPAN_ASSERT(at != std::string::npos, "a chart without a view box");
  std::size_t end = 0;
  const double width = std::stod(plot.substr(at + start.size()), &end);
  const double height = std::stod(plot.substr(at + start.size() + end));
  const double top = kMargin + kTitleHeight + kLineHeight * static_cast<double>(lines.size());
  plot.insert(plot.find("class=\"chart\""), str_cat("x=\"", fixed(kMargin, 0), "\" y=\"", fixed(top, 0), "\" width=\"",
                                                    fixed(width, 0), "\" height=\"", fixed(height, 0), "\" "));
  for (std::size_t i = 0; i < kLight.series.size(); ++i)
    replace_all(plot, str_cat("var(--series-", i + 1, ")"), kLight.series[i]);
  for (const auto& [name, colour] : {std::pair{"paper", kLight.paper},
                                     {"ink", kLight.ink},
                                     {"soft", kLight.soft},
                                     {"grid", kLight.grid},
                                     {"band", kLight.band}})
    replace_all(plot, str_cat("var(--", name, ")"), colour);

  const std::string whole_width = fixed(width + 2 * kMargin, 0), whole_height = fixed(top + height + kMargin, 0);
  std::string out = str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", whole_width, " ", whole_height,
                            "\" width=\"", whole_width, "\" height=\"", whole_height,
                            "\" font-size=\"13\" font-family=\"system-ui, sans-serif\">\n<style>", rules(),
                            "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"", kLight.paper, "\"/>\n");
  const auto text = [&](double y, const std::string& what, const char* attributes) {
    out += str_cat("<text x=\"", fixed(kMargin, 0), "\" y=\"", fixed(y, 0), "\"", attributes, ">", escape(what),
                   "</text>\n");
  };
  text(kMargin + 14, chart.title, " font-size=\"17\" font-weight=\"600\"");
  for (std::size_t i = 0; i < lines.size(); ++i)
    text(kMargin + kTitleHeight + kLineHeight * static_cast<double>(i) + 10, lines[i], " class=\"soft\"");
  return out + plot + "</svg>\n";
}

}  // namespace longspan::report
