// The patterns of a Diffuser as its operator takes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "longspan/base/recently_used.h"
#include "longspan/nn/pch.h"
#include "longspan/nn/rolling.h"
#include "longspan/patterns/edges.h"
#include "longspan/patterns/options.h"
#include "longspan/patterns/stream.h"

namespace longspan::nn {

/// Global tokens that a text brings itself, ascending.
using GlobalTokens = std::optional<std::vector<int64_t>>;

/// Makes patterns and keeps those used last. Thread-safe.
class DiffuserPatterns {
 public:
  /// A pattern as ops::pattern_tensor() gives it.
  struct Entry {
    at::Tensor tensor;
    int64_t pairs = 0;
    int64_t empty_row = -1;  ///< the first query without a key; -1: none
  };

  /// `edges` is for the generator of that name, `layer` for patterns that differ by layer.
  DiffuserPatterns(patterns::PatternOptions options, uint64_t seed, int64_t layer,
                   std::optional<patterns::EdgeList> edges);

  /// Of n tokens. Under pad_to_window the first n tokens of the longer pattern: padding behind them is nobody's key.
  Entry of_length(int64_t n, const GlobalTokens& global = std::nullopt);
  /// The same for a text that was rolled round by `shift` places, 0 <= shift < n: with `what` of the pattern rolled
  /// too. `global`, too, as in the text that was not rolled.
  Entry rolled(int64_t n, const GlobalTokens& global, PatternRoll what, int64_t shift);
  /// Of the `count` tokens that follow n of a stream, over kept(n).size() + count tokens.
  Entry continued(int64_t n, int64_t count);
  /// What a stream of n tokens keeps.
  patterns::KeptTokens kept(int64_t n) const;
  /// Pairs of the last `queries` of n tokens.
  int64_t pairs(int64_t queries, int64_t n) const;

  const patterns::PatternOptions& options() const { return options_; }

 private:
  using Text = std::pair<int64_t, GlobalTokens>;  ///< length
  using Piece = std::pair<int64_t, int64_t>;      ///< tokens before, and new ones
  using RolledText = std::pair<Text, int64_t>;    ///< shift

  patterns::PatternInputs inputs(const GlobalTokens& global = std::nullopt) const;
  patterns::Pattern build(int64_t n, const GlobalTokens& global) const;

  const patterns::PatternOptions options_;
  const uint64_t seed_;
  const int64_t layer_;
  const std::optional<patterns::EdgeList> edges_;
  RecentlyUsed<Text, Entry> texts_;
  RecentlyUsed<Piece, Entry> pieces_;       ///< a stream asks for each once, layer by layer
  RecentlyUsed<RolledText, Entry> rolled_;  ///< whole patterns
};

/// Layers with the same pattern share one object. One with edges is its own.
std::shared_ptr<DiffuserPatterns> shared_diffuser_patterns(const patterns::PatternOptions& options, uint64_t seed,
                                                           int64_t layer);

}  // namespace longspan::nn
