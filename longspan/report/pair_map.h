// The square of all (query, key) pairs, coloured by kind, as an SVG picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longspan::report {

/// Pairs of one colour.
struct PairKind {
  std::string name;           ///< beside its colour below the picture
  std::vector<double> share;  ///< [row * cells + column] in [0, 1]: which part of a cell's pairs are of this kind
};

/// Queries go down, keys to the right.
struct PairMap {
  std::string title;
  std::vector<std::string> lines;  ///< of explanation, below the title
  int64_t tokens = 0;              ///< N
  int64_t cells = 0;               ///< along a side, at most N
  std::vector<PairKind> kinds;     ///< as many as there are series colours at most; those without pairs are left out
};

/// A complete SVG document without anything outside it, legible in a light and in a dark theme. Cells are the stronger
/// the more of their pairs are there: full colour for all of them, and something to see for a single one.
std::string to_svg(const PairMap& map);

}  // namespace longspan::report
