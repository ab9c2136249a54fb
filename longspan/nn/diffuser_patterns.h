// The patterns of a Diffuser as its operator takes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
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

/// A pattern as ops::pattern_tensor() gives it.
struct PatternEntry {
  at::Tensor tensor;
  int64_t pairs = 0;
  int64_t empty_row = -1;  ///< the first query without a key; -1: none
  /// Of a stream: the rows of the past that the pattern is over, ascending; none: all of them.
  std::optional<std::vector<int64_t>> rows = std::nullopt;
};

/// Patterns used last, of all that share it, within one number of bytes. Thread-safe.
class PatternMemory {
 public:
  /// Bytes for patterns of texts and of pieces of streams, of which each is asked for once, layer by layer.
  PatternMemory(int64_t text_bytes, int64_t piece_bytes);

  /// That of all modules of the process: 1 GiB for texts (one of 65,536 tokens takes 100 MB), 64 MiB for pieces.
  static const std::shared_ptr<PatternMemory>& of_process();

  /// Bytes kept.
  int64_t bytes() const;

 private:
  friend class DiffuserPatterns;

  enum class Kind { text, rolled, piece };
  /// Owner, kind, length and shift (text, rolled) or tokens before and new ones (piece), the text's own global tokens.
  using Key = std::tuple<int64_t, Kind, int64_t, int64_t, GlobalTokens>;

  RecentlyUsed<Key, PatternEntry> texts_, pieces_;
  std::atomic<int64_t> owners_{0};
};

/// Makes patterns and keeps those used last. Thread-safe.
class DiffuserPatterns {
 public:
  using Entry = PatternEntry;

  /// `without`: see patterns::PatternInputs. `edges` is for the generator of that name, `layer` for patterns that
  /// differ by layer.
  DiffuserPatterns(patterns::PatternOptions options, std::vector<patterns::Generator> without, uint64_t seed,
                   int64_t layer, std::optional<patterns::EdgeList> edges,
                   std::shared_ptr<PatternMemory> memory = PatternMemory::of_process());
  ~DiffuserPatterns();
  DiffuserPatterns(const DiffuserPatterns&) = delete;
  DiffuserPatterns& operator=(const DiffuserPatterns&) = delete;

  /// Of n tokens. Under pad_to_window the first n tokens of the longer pattern: padding behind them is nobody's key.
  Entry of_length(int64_t n, const GlobalTokens& global = std::nullopt);
  /// The same for a text that was rolled round by `shift` places, 0 <= shift < n: with `what` of the pattern rolled
  /// too. `global`, too, as in the text that was not rolled.
  Entry rolled(int64_t n, const GlobalTokens& global, PatternRoll what, int64_t shift);
  /// Of the `count` tokens that follow n of a stream, over the rows of kept(n) that Entry::rows names and the new ones.
  Entry continued(int64_t n, int64_t count);
  /// What a stream of n tokens keeps.
  patterns::KeptTokens kept(int64_t n) const;
  /// Pairs of the last `queries` of n tokens.
  int64_t pairs(int64_t queries, int64_t n) const;

  /// Without the generators that have left.
  const patterns::PatternOptions& options() const { return left_; }
  /// Whether it makes the patterns of these arguments of the constructor.
  bool makes(const patterns::PatternOptions& options, const std::vector<patterns::Generator>& without, uint64_t seed,
             int64_t layer, const std::optional<patterns::EdgeList>& edges) const;

 private:
  using Kind = PatternMemory::Kind;

  patterns::PatternInputs inputs(const GlobalTokens& global = std::nullopt) const;
  patterns::Pattern build(int64_t n, const GlobalTokens& global) const;
  PatternMemory::Key key(Kind kind, int64_t n, int64_t more, const GlobalTokens& global = std::nullopt) const {
    return {owner_, kind, n, more, global};
  }

  const patterns::PatternOptions options_, left_;
  const std::vector<patterns::Generator> without_;
  const uint64_t seed_;
  const int64_t layer_;
  const std::optional<patterns::EdgeList> edges_;
  const std::shared_ptr<PatternMemory> memory_;
  const int64_t owner_;
};

/// Layers with the same pattern share one object.
std::shared_ptr<DiffuserPatterns> shared_diffuser_patterns(const patterns::PatternOptions& options,
                                                           const std::vector<patterns::Generator>& without,
                                                           uint64_t seed, int64_t layer,
                                                           std::optional<patterns::EdgeList> edges);

}  // namespace longspan::nn
