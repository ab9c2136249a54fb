// Matrices as coloured cells, one below the other over a common text: a picture in SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longspan::report {

/// A matrix of numbers around zero: cells above it in one colour, below in another, stronger with their distance from
/// zero, none at it. NaN is left empty, an infinity has full colour.
struct HeatMap {
  std::string title;                ///< above it, with its scale
  int64_t rows = 0, columns = 0;    ///< at least 1 each
  std::vector<double> values;       ///< [rows, columns], row-major
  std::vector<std::string> groups;  ///< names of groups of rows/groups.size() rows each, in order; at least one
  double scale = 0;                 ///< distance from zero of full colour; 0: that of all but the most extreme 2 %
  std::string scale_text;           ///< what the values are, in front of the scale
  std::vector<std::string> labels;  ///< a character below each column ("" for none), or empty
};

struct HeatMapPicture {
  std::string title;
  std::vector<std::string> lines;  ///< of explanation, below the title
  std::vector<HeatMap> maps;
};

/// A complete SVG document without anything outside it, legible in a light and in a dark theme.
std::string to_svg(const HeatMapPicture& picture);

}  // namespace longspan::report
