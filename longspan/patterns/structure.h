// The structured pieces of a pattern: everything but single keys.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/patterns/build.h"
#include "longspan/patterns/options.h"
#include "longspan/patterns/pattern.h"

namespace longspan::patterns {

/// Positions [begin, end).
struct Interval {
  int64_t begin, end;
};

/// The keys of query i in the band of n tokens, were it no dense row. Both ends ascend with i.
Interval band_of(const PatternOptions& options, const std::vector<Generator>& generators, int64_t i, int64_t n);

/// Dense rows among the tokens below n, ascending, those of bigbird apart; none unless `generators` have them. Where
/// they are drawn the whole of options.pattern counts.
std::vector<int32_t> global_tokens(const PatternOptions& options, const std::vector<Generator>& generators, int64_t n,
                                   const PatternInputs& inputs);

/// Whether the generator fixed makes j a dense column.
bool is_fixed_column(const PatternOptions& options, int64_t j);

struct Structure {
  PatternParts parts;  ///< with `rest` empty
  /// Blocks that meet another piece and so cannot be pieces themselves: their pairs go to the rest. As parts.blocks.
  Csr loose_blocks;
};

/// What `generators`, all of options.pattern or some, make of `length` tokens. `inputs.edges` and everything that goes
/// to the rest are left to rest.h.
Structure make_structure(const PatternOptions& options, const std::vector<Generator>& generators, int64_t length,
                         const PatternInputs& inputs);

/// Fills parts.column_left, _right and _end from the band and the dense rows and columns; queries before `first` have
/// no columns.
void place_columns(PatternParts& parts, int64_t first = 0);

}  // namespace longspan::patterns
