// The pieces of a pattern as tiles of queries against panels of keys, each piece with tiles of one shape, so that it is
// one batched product.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/pattern_view.h"

namespace longspan::ops::diffuse {

/// T tiles of I queries and J keys. Numbers of queries count from the first row that has one; a place without a query
/// has the number N of queries, a place without a key -1.
struct Panel {
  int64_t tiles = 0, queries = 0, keys = 0;
  bool single_pairs = false;  ///< the rest: I = 1, and keys that are scattered
  std::vector<int64_t> query, key;
  /// Of each place of a query: the places of its keys in the panel are those of [begin, end), but for [hole_begin,
  /// hole_end).
  std::vector<int64_t> begin, hole_begin, hole_end, end;
};

/// Those of all pieces that have pairs, for the queries from first_row on. Shapes are chosen so that memory is linear
/// in the number of tokens for windows and strips of fixed widths, and so that the rest's J is its mean number of keys
/// rounded up to a power of two: longer lists fill several places.
std::vector<Panel> make_panels(const PatternView& pattern, int64_t first_row);

}  // namespace longspan::ops::diffuse
