#include "longspan/report/pair_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/html.h"
#include "longspan/report/theme.h"

namespace longspan::report {

namespace {

// Sizes in SVG units.
constexpr double kMargin = 16, kSide = 560, kTitleHeight = 26, kLineHeight = 17, kAxis = 22, kSwatch = 11;
constexpr double kLetter = 6.6, kTitleLetter = 9.6;  ///< mean width of a letter of the explanations, of the title
constexpr int kLevels = 8;                           ///< of strength

/// Colours as they stand, not as variables: a picture is also read by programs that know no variables.
std::string rules(const Theme& theme) {
  std::string out =
      str_cat("text { fill: ", theme.ink, "; } .soft { fill: ", theme.soft, "; } .paper { fill: ", theme.paper,
              "; } .frame { fill: ", theme.band, "; stroke: ", theme.grid, "; } ");
  for (std::size_t kind = 0; kind < theme.series.size(); ++kind)
    out += str_cat(".k", kind, " { fill: ", theme.series[kind], "; } ");
  return out;
}

std::string coordinate(double value) { return fixed(value, 1); }

std::string text_at(double x, double y, const std::string& text, const std::string& attributes = "") {
  return str_cat("<text x=\"", coordinate(x), "\" y=\"", coordinate(y), "\"", attributes, ">", escape(text),
                 "</text>\n");
}

/// 0 for nothing to draw. The root lets sparse cells be seen.
int level(double share) {
  return share <= 0 ? 0 : std::clamp(static_cast<int>(std::lround(std::sqrt(share) * kLevels)), 1, kLevels);
}

/// One path for every strength, in units of a cell: neighbours of equal strength in a row are one rectangle.
std::string cells_of(const PairMap& map, std::size_t kind) {
  const std::vector<double>& share = map.kinds[kind].share;
  std::array<std::string, kLevels + 1> paths;
  for (int64_t row = 0; row < map.cells; ++row)
    for (int64_t column = 0, end = 0; column < map.cells; column = end) {
      const auto level_at = [&](int64_t at) { return level(share[static_cast<std::size_t>(row * map.cells + at)]); };
      const int strength = level_at(column);
      for (end = column + 1; end < map.cells && level_at(end) == strength;) ++end;
      if (strength > 0)
        paths[static_cast<std::size_t>(strength)] +=
            str_cat("M", column, " ", row, "h", end - column, "v1h", column - end);
    }
  std::string out;
  for (int strength = 1; strength <= kLevels; ++strength)
    if (const std::string& path = paths[static_cast<std::size_t>(strength)]; !path.empty())
      out += str_cat("<path class=\"k", kind, "\" fill-opacity=\"", fixed(strength / double{kLevels}, 3), "\" d=\"",
                     path, "\"/>\n");
  return out;
}

bool has_pairs(const PairKind& kind) {
  return std::any_of(kind.share.begin(), kind.share.end(), [](double share) { return share > 0; });
}

}  // namespace

std::string to_svg(const PairMap& map) {
  LONGSPAN_ASSERT(map.kinds.size() <= kLight.series.size(), map.kinds.size(), " kinds of pairs");
  int64_t shown = 0;
  for (const PairKind& kind : map.kinds) {
    LONGSPAN_ASSERT(static_cast<int64_t>(kind.share.size()) == map.cells * map.cells, kind.share.size(), " shares for ",
                    map.cells, " cells along a side");
    shown += has_pairs(kind);
  }
  double text_width = std::max(kSide, kTitleLetter * static_cast<double>(characters(map.title)));
  for (const std::string& line : map.lines)
    text_width = std::max(text_width, kLetter * static_cast<double>(characters(line)));
  const double width = text_width + 2 * kMargin;
  const double top = kMargin + kTitleHeight + kLineHeight * static_cast<double>(map.lines.size()) + kAxis;
  const double height = top + kSide + kMargin + kLineHeight * static_cast<double>(shown) + kMargin;

  const std::string w = coordinate(width), h = coordinate(height), side = coordinate(kSide);
  std::string out =
      str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", w, "\" height=\"", h, "\" viewBox=\"0 0 ", w, " ",
              h, "\" role=\"img\" aria-label=\"", escape(map.title),
              "\" font-size=\"12.5\" font-family=\"system-ui, sans-serif\">\n<style>", for_both_themes(rules),
              "</style>\n"
              "<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n");
  out += text_at(kMargin, kMargin + 14, map.title, " font-size=\"17\" font-weight=\"600\"");
  double y = kMargin + kTitleHeight;
  for (const std::string& line : map.lines) {
    out += text_at(kMargin, y + 12, line, " class=\"soft\"");
    y += kLineHeight;
  }
  out += text_at(
      kMargin, top - 6,
      str_cat("keys, 0 to ", grouped(std::max<int64_t>(map.tokens - 1, 0)), " \xE2\x86\x92  (queries downwards)"),
      " class=\"soft\"");
  out += str_cat("<rect x=\"", coordinate(kMargin), "\" y=\"", coordinate(top), "\" width=\"", side, "\" height=\"",
                 side, "\" class=\"frame\"/>\n");
  if (map.cells > 0) {
    out += str_cat("<g shape-rendering=\"crispEdges\" transform=\"translate(", coordinate(kMargin), " ",
                   coordinate(top), ") scale(", significant(kSide / static_cast<double>(map.cells), 6), ")\">\n");
    for (std::size_t kind = 0; kind < map.kinds.size(); ++kind) out += cells_of(map, kind);
    out += "</g>\n";
  }
  y = top + kSide + kMargin;
  for (std::size_t kind = 0; kind < map.kinds.size(); ++kind) {
    if (!has_pairs(map.kinds[kind])) continue;
    out += str_cat("<rect x=\"", coordinate(kMargin), "\" y=\"", coordinate(y + 2), "\" width=\"", coordinate(kSwatch),
                   "\" height=\"", coordinate(kSwatch), "\" class=\"k", kind, "\"/>\n");
    out += text_at(kMargin + kSwatch + 8, y + 12, map.kinds[kind].name);
    y += kLineHeight;
  }
  return out + "</svg>\n";
}

}  // namespace longspan::report
