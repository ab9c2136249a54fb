// The structured pieces of a pattern: everything but single keys.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/patterns/build.h"
#include "longspan/patterns/options.h"
#include "longspan/patterns/pattern.h"

namespace longspan::patterns {

struct Structure {
  PatternParts parts;  ///< with `rest` empty
  /// Blocks that meet another piece and so cannot be pieces themselves: their pairs go to the rest. As parts.blocks.
  Csr loose_blocks;
};

/// Of the pattern of `length` tokens. `inputs.edges` and everything that goes to the rest are left to rest.h.
Structure make_structure(const PatternOptions& options, int64_t length, const PatternInputs& inputs);

/// Fills parts.column_left, _right and _end from the band and the dense rows and columns.
void place_columns(PatternParts& parts);

}  // namespace longspan::patterns
