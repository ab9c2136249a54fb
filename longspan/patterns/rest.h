// The pairs of a pattern that are in no structured piece.
#pragma once

#include <cstdint>

#include "longspan/patterns/build.h"
#include "longspan/patterns/structure.h"

namespace longspan::patterns {

/// Single keys of the first `rows` queries among the first `rows` tokens: those of the generators that list pairs and
/// lie in no piece of `structure`, then random ones among what the pattern with all its generators leaves, of which
/// `whole` is the structure (`structure` itself without inputs.without). Queries before `first` get none.
Csr make_rest(const PatternOptions& options, const Structure& structure, const Structure& whole, int64_t rows,
              const PatternInputs& inputs, const Parallel& parallel, int64_t first = 0);

}  // namespace longspan::patterns
