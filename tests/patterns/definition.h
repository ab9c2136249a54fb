// Patterns as their definitions say, pair by pair. Shares no code with longspan/patterns.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "longspan/base/pattern_view.h"

namespace longspan::patterns {

using Pairs = std::set<std::pair<int64_t, int64_t>>;  ///< (query, key)

/// All pairs inside the blocks [c w/2, c w/2 + w) for c = 0, 1, ...
Pairs overlapping_blocks(int64_t n, int64_t w);
Pairs band(int64_t n, int64_t k);
Pairs equal_blocks(int64_t n, int64_t b);
/// Rows and columns of the tokens below n.
Pairs rows_and_columns(int64_t n, const std::vector<int64_t>& tokens);
Pairs evenly_spaced(int64_t n, int64_t r);
/// BigBird without its random blocks.
Pairs bigbird_frame(int64_t n, int64_t b);
/// Sparse transformers: the l keys before, and those at multiples of l before.
Pairs strided_keys(int64_t n, int64_t l);
/// Own block of l, and the last c columns of every one.
Pairs fixed_keys(int64_t n, int64_t l, int64_t c);
Pairs all_pairs(int64_t n);
Pairs diagonal(int64_t n);

Pairs operator|(Pairs a, const Pairs& b);
/// Without those of b.
Pairs operator-(const Pairs& a, const Pairs& b);
/// Those among the first n tokens.
Pairs cut_to(const Pairs& pairs, int64_t n);
/// Those with key <= query.
Pairs past(const Pairs& pairs);

/// What the pieces of a pattern hold; fails the test where a pair stands in two of them, or a piece breaks a rule of
/// PatternView.
Pairs pairs_of(const PatternView& pattern);
/// The same from the side of the keys, with the dense rows and columns of `pattern`.
Pairs pairs_of(const PatternView& pattern, const TransposedPatternView& transposed);

}  // namespace longspan::patterns
