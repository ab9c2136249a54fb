// Causal patterns of streams: what a stream must keep of its past, and the pattern of its next tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/patterns/build.h"
#include "longspan/patterns/options.h"
#include "longspan/patterns/pattern.h"

namespace longspan::patterns {

/// The tokens of [0, n) that queries from n on can have as keys: those of `single`, and all from `from` on.
struct KeptTokens {
  int64_t n = 0;
  std::vector<int64_t> single;  ///< below `from`, ascending
  int64_t from = 0;

  int64_t size() const { return static_cast<int64_t>(single.size()) + n - from; }
  /// Ascending; number r of the list is what stands in row r of a state.
  std::vector<int64_t> positions() const;
  /// Row of the token at `position`, which is kept.
  int64_t row_of(int64_t position) const;
};

/// What a stream of n tokens keeps: a window and the global columns, or everything where a later query may have any
/// key (random keys, strided ones, a global token that is still to come). A token once dropped is never kept again.
/// Throws InputError where length_dependence() names a reason. Generators' choices alone, inputs.edges unused.
KeptTokens kept_tokens(const PatternOptions& options, int64_t n, const PatternInputs& inputs = {});

/// The pattern of the `count` tokens that follow kept.n, over kept.size() + count tokens: the kept ones, then the new
/// ones. Query kept.size() + t has the keys that build_pattern(options, kept.n + count) gives to kept.n + t, by their
/// rows; queries of the past have none. `kept` is kept_tokens(options, n, inputs). Without random and strided keys it
/// takes O(kept.size() + count) time, whatever n.
Pattern continued_pattern(const PatternOptions& options, const KeptTokens& kept, int64_t count,
                          const PatternInputs& inputs = {}, const Parallel& parallel = SerialParallel());

/// A continued pattern over those rows of the past alone that one of its queries has as a key.
struct SeenPast {
  std::vector<int64_t> rows;  ///< of the past, ascending
  Pattern pattern;            ///< over rows.size() tokens of the past and the new ones
};

/// `continued` with `past` tokens before its first query: every pair is in the piece that it was in.
SeenPast seen_past(const Pattern& continued, int64_t past);

}  // namespace longspan::patterns
