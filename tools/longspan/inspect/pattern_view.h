// A sparse pattern as numbers, text and a picture.
#pragma once

#include <cstdint>
#include <string>

#include "longspan/io/json.h"
#include "longspan/patterns/options.h"
#include "longspan/patterns/pattern.h"
#include "longspan/patterns/statistics.h"
#include "longspan/report/pair_map.h"

namespace longspan::tool {

/// A pattern that was built, and what it was built from.
struct PatternLook {
  std::string name;  ///< as it was asked for
  patterns::PatternOptions options;
  int64_t tokens = 0;  ///< asked for; the pattern may be padded
  uint64_t seed = 0;
  int64_t layer = 0;
  int64_t duplicates = 0;  ///< pairs that stood more than once in a file of edges
  patterns::Pattern pattern;
  patterns::PatternStatistics statistics;
};

Json to_json(const PatternLook& look);

/// For a person: pairs, degrees, pieces, the fields with their values.
std::string to_text(const PatternLook& look);

report::PairMap pattern_picture(const PatternLook& look);

}  // namespace longspan::tool
