#include "longspan/report/heat_map.h"

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
constexpr double kMargin = 16, kNames = 76, kCellWidth = 7, kLeastWidth = 560, kGroupGap = 6, kMapGap = 34;
constexpr double kTitleHeight = 26, kLineHeight = 17, kGroupHeight = 64, kTextHeight = 18;
constexpr double kLetter = 6.6;  ///< mean width of a letter of the explanations
constexpr int kLevels = 8;       ///< of strength, on either side of zero

/// Colours as they stand, not as variables: a picture is also read by programs that know no variables. Named by its
/// class, so that the rules keep to the picture where it stands in a page.
std::string rules(const Theme& theme) {
  std::string out;
  const auto rule = [&](const char* what, const char* property, const char* value) {
    out += str_cat(".heat-map ", what, " { ", property, ": ", value, "; } ");
  };
  rule("text", "fill", theme.ink);
  rule(".soft", "fill", theme.soft);
  rule(".paper", "fill", theme.paper);
  rule(".band", "fill", theme.band);
  rule("path", "fill", "none");
  rule(".above", "stroke", theme.series[1]);
  rule(".below", "stroke", theme.series[0]);
  return out;
}

std::string coordinate(double value) { return fixed(value, 1); }

std::string text_at(double x, double y, const std::string& text, const std::string& attributes = "") {
  return str_cat("<text x=\"", coordinate(x), "\" y=\"", coordinate(y), "\"", attributes, ">", escape(text),
                 "</text>\n");
}

/// Safe in SVG; line breaks and blanks as visible signs.
std::string visible(const std::string& character) {
  return character == "\n" ? "\xE2\x86\xB5" : character == " " ? "\xC2\xB7" : escape(character);
}

/// Distance from zero that 98 % of the finite values keep to, so that a few extremes do not pale the rest; the largest
/// where that is 0.
double usual_distance(const std::vector<double>& values) {
  std::vector<double> distances;
  for (const double value : values)
    if (std::isfinite(value)) distances.push_back(std::abs(value));
  if (distances.empty()) return 0;
  std::sort(distances.begin(), distances.end());
  const double usual = distances[(distances.size() - 1) * 98 / 100];
  return usual > 0 ? usual : distances.back();
}

class Drawing {
 public:
  explicit Drawing(const HeatMap& map) : map_(map) {
    LONGSPAN_ASSERT(map.rows >= 1 && map.columns >= 1 && !map.groups.empty(), "an empty heat map");
    LONGSPAN_ASSERT(static_cast<int64_t>(map.values.size()) == map.rows * map.columns, map.values.size(),
                    " values for ", map.rows, " x ", map.columns);
    LONGSPAN_ASSERT(map.labels.empty() || static_cast<int64_t>(map.labels.size()) == map.columns, map.labels.size(),
                    " labels for ", map.columns, " columns");
    LONGSPAN_ASSERT(map.rows % static_cast<int64_t>(map.groups.size()) == 0, map.rows, " rows in ", map.groups.size(),
                    " groups");
    group_rows_ = map.rows / static_cast<int64_t>(map.groups.size());
    row_height_ = std::clamp(kGroupHeight / static_cast<double>(group_rows_), 2.0, 14.0);
    cell_width_ = std::max(kCellWidth, kLeastWidth / static_cast<double>(map.columns));
    scale_ = map.scale > 0 ? map.scale : usual_distance(map.values);
  }

  double width() const { return kNames + cell_width_ * static_cast<double>(map_.columns); }
  double height() const {
    return 2 * kLineHeight + static_cast<double>(map_.groups.size()) * (group_height() + kGroupGap) +
           (map_.labels.empty() ? 0 : kTextHeight);
  }

  std::string svg(double x, double y) const {
    const std::string scale =
        scale_ > 0 ? str_cat(" (full colour from ", negative() ? "\xC2\xB1" : "", significant(scale_, 2), ")")
                   : " (all zero)";
    std::string out = text_at(x, y + 12, map_.title, " font-weight=\"600\"");
    out += text_at(x, y + 12 + kLineHeight, map_.scale_text + scale, " class=\"soft\"");
    const double left = x + kNames;
    double top = y + 2 * kLineHeight;
    for (std::size_t group = 0; group < map_.groups.size(); ++group, top += group_height() + kGroupGap) {
      out += text_at(left - 8, top + group_height() / 2 + 4, map_.groups[group], " text-anchor=\"end\"");
      out += str_cat("<rect x=\"", coordinate(left), "\" y=\"", coordinate(top), "\" width=\"",
                     coordinate(width() - kNames), "\" height=\"", coordinate(group_height()), "\" class=\"band\"/>\n");
      out += cells(static_cast<int64_t>(group) * group_rows_, left, top);
    }
    if (!map_.labels.empty()) out += labels(left, top + 8);
    return out;
  }

 private:
  bool negative() const {
    return std::any_of(map_.values.begin(), map_.values.end(), [](double value) { return value < 0; });
  }
  double group_height() const { return row_height_ * static_cast<double>(group_rows_); }

  /// 1 to kLevels above zero, -1 to -kLevels below, 0 for nothing to draw.
  int level(double value) const {
    if (std::isnan(value) || scale_ <= 0) return 0;
    return static_cast<int>(std::lround(std::clamp(value / scale_, -1.0, 1.0) * kLevels));
  }

  /// One path for every strength: neighbours of equal strength in a row are one stroke.
  std::string cells(int64_t first_row, double left, double top) const {
    std::array<std::string, 2 * kLevels + 1> paths;
    for (int64_t row = 0; row < group_rows_; ++row)
      for (int64_t column = 0, end = 0; column < map_.columns; column = end) {
        const auto level_at = [&](int64_t at) {
          return level(map_.values[static_cast<std::size_t>((first_row + row) * map_.columns + at)]);
        };
        const int strength = level_at(column);
        for (end = column + 1; end < map_.columns && level_at(end) == strength;) ++end;
        if (strength == 0) continue;
        paths[static_cast<std::size_t>(strength + kLevels)] +=
            str_cat("M", coordinate(left + cell_width_ * static_cast<double>(column)), " ",
                    coordinate(top + row_height_ * (static_cast<double>(row) + 0.5)), "h",
                    coordinate(cell_width_ * static_cast<double>(end - column)));
      }
    std::string out;
    for (int strength = -kLevels; strength <= kLevels; ++strength)
      if (const auto& path = paths[static_cast<std::size_t>(strength + kLevels)]; !path.empty())
        out += str_cat("<path d=\"", path, "\" class=\"", strength > 0 ? "above" : "below", "\" stroke-width=\"",
                       coordinate(row_height_), "\" stroke-opacity=\"", fixed(std::abs(strength) / double{kLevels}, 3),
                       "\"/>\n");
    return out;
  }

  std::string labels(double left, double y) const {
    std::string out = "<g font-family=\"ui-monospace, monospace\" font-size=\"10\" text-anchor=\"middle\">\n";
    for (std::size_t i = 0; i < map_.labels.size(); ++i)
      out += str_cat("<text x=\"", coordinate(left + cell_width_ * (static_cast<double>(i) + 0.5)), "\" y=\"",
                     coordinate(y), "\">", visible(map_.labels[i]), "</text>");
    return out + "\n</g>\n";
  }

  const HeatMap& map_;
  int64_t group_rows_ = 1;
  double row_height_ = 1, cell_width_ = 1, scale_ = 0;
};

}  // namespace

std::string to_svg(const HeatMapPicture& picture) {
  std::vector<Drawing> drawings(picture.maps.begin(), picture.maps.end());
  double width = kLeastWidth, height = kMargin + kTitleHeight + kLineHeight * static_cast<double>(picture.lines.size());
  for (const std::string& line : picture.lines) width = std::max(width, kLetter * static_cast<double>(line.size()));
  for (const Drawing& drawing : drawings) {
    width = std::max(width, drawing.width());
    height += kMapGap + drawing.height();
  }
  width += 2 * kMargin;
  height += kMargin;
  const std::string w = coordinate(width), h = coordinate(height);
  std::string out =
      str_cat("<svg class=\"heat-map\" xmlns=\"http://www.w3.org/2000/svg\" width=\"", w, "\" height=\"", h,
              "\" viewBox=\"0 0 ", w, " ", h, "\" role=\"img\" aria-label=\"", escape(picture.title),
              "\" font-size=\"12.5\" font-family=\"system-ui, sans-serif\">\n<style>", for_both_themes(rules),
              "</style>\n"
              "<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n");
  double y = kMargin;
  out += text_at(kMargin, y + 14, picture.title, " font-size=\"17\" font-weight=\"600\"");
  y += kTitleHeight;
  for (const std::string& line : picture.lines) {
    out += text_at(kMargin, y + 12, line, " class=\"soft\"");
    y += kLineHeight;
  }
  for (const Drawing& drawing : drawings) {
    y += kMapGap;
    out += drawing.svg(kMargin, y);
    y += drawing.height();
  }
  return out + "</svg>\n";
}

}  // namespace longspan::report
