// From options to a pattern.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/patterns/edges.h"
#include "longspan/patterns/options.h"
#include "longspan/patterns/pattern.h"

namespace longspan::patterns {

/// What a pattern depends on besides its options and the number of tokens.
struct PatternInputs {
  uint64_t seed = 0;
  /// Patterns of different layers have different random keys; the library gives every layer that of layer 0.
  int64_t layer = 0;
  /// Global tokens of this text, for example its question's, instead of those that the generator would choose; in any
  /// order. The pattern must have the generator `global` or `longformer`.
  std::optional<std::vector<int64_t>> global_tokens = {};
  /// For the generator `edges`; lives until the pattern is built.
  const EdgeList* edges = nullptr;
  /// Generators of the pattern whose pairs leave it when all are drawn, for ablations: those of the others stay what
  /// they are, although random keys are drawn from what the whole pattern leaves free. A pair that another generator
  /// has, too, stays.
  std::vector<Generator> without = {};
  /// Bytes that building may take at most; 0: usable_memory().
  int64_t memory_limit = 0;
};

/// The pattern of n tokens (of padded_length(options, n) tokens, to be exact). A pure function of its arguments:
/// neither the number of threads nor the machine counts. Memory and time are those of the rest, O(N (g + r)); nothing
/// is made for the pairs of windows, global tokens and blocks.
///
/// Throws InputError for options that check() refuses, `without` that leaves nothing or names what is not there, n
/// below 0 or (under fit=cut) above max_len, global tokens or edges outside the pattern, and a pattern that would need
/// more than the memory there is, with the bytes it would need.
Pattern build_pattern(const PatternOptions& options, int64_t n, const PatternInputs& inputs = {},
                      const Parallel& parallel = SerialParallel());

/// The generators of the pattern without inputs.without.
std::vector<Generator> generators_left(const PatternOptions& options, const PatternInputs& inputs);

/// Bytes that building takes at most, for `edges` pairs of one's own: the transpose and the packed form of operators
/// included.
double bytes_to_build(const PatternOptions& options, int64_t n, int64_t edges = 0);

}  // namespace longspan::patterns
