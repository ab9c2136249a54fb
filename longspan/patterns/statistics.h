// What a pattern looks like: degrees, components, where its pairs lie.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "longspan/base/pattern_view.h"

namespace longspan::patterns {

struct PatternStatistics {
  /// Keys of a query; 0 for no tokens.
  int64_t degree_min = 0, degree_max = 0;
  double degree_mean = 0;
  /// Queries of a key; their mean is the same.
  int64_t in_degree_min = 0, in_degree_max = 0;
  int64_t empty_rows = 0;  ///< queries without a key
  /// Connected components of the tokens when a pair joins its query and its key, whatever the direction.
  int64_t components = 0;
};

/// O(N + single pairs + N times dense columns).
PatternStatistics statistics(const PatternView& pattern);

inline constexpr int kPatternPieces = 5;

/// Which part of each cell's pairs lies in the pattern, by piece: [piece][row * cells + column], each in [0, 1]. The
/// square of all pairs is divided into cells x cells, where cells = min(most_cells, N); cell c begins at token
/// ceil(c N / cells).
struct PatternMap {
  int64_t cells = 0;
  std::array<std::vector<double>, kPatternPieces> share;
};

PatternMap map_of(const PatternView& pattern, int64_t most_cells);

}  // namespace longspan::patterns
