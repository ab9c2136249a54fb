// A sparse pattern: which keys each query of an attention may use.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/base/pattern_view.h"
#include "longspan/patterns/csr.h"

namespace longspan::patterns {

/// The arrays of a PatternView; its comment says what must hold.
struct PatternParts {
  int64_t n = 0;
  bool causal = false;
  std::vector<int32_t> band_begin, band_end;
  std::vector<int32_t> dense_rows, dense_columns;
  std::vector<int32_t> column_left, column_right, column_end;  ///< empty without dense columns
  int64_t block = 0;
  Csr blocks;
  Csr rest;  ///< N rows

  PatternView view() const;
  bool operator==(const PatternParts&) const = default;
};

/// Pairs in each piece.
struct PieceCounts {
  int64_t dense_rows = 0, band = 0, dense_columns = 0, blocks = 0, rest = 0;

  int64_t total() const { return dense_rows + band + dense_columns + blocks + rest; }
};

/// An immutable value that costs a pointer to copy: layers, heads and examples share one. Thread-safe.
class Pattern {
 public:
  /// No tokens.
  Pattern();
  /// `order`: PatternView::order, or empty. It is no part of what a pattern is: neither identity() nor ==
  /// looks at it.
  explicit Pattern(PatternParts parts, std::vector<int32_t> order = {});

  /// N.
  int64_t size() const;
  bool causal() const;
  /// Lives as long as this pattern or a copy of it.
  PatternView view() const;
  /// The side of the keys. Made at the first call (in about the time that the pattern took) and kept.
  TransposedPatternView transposed(const Parallel& parallel = SerialParallel()) const;

  const PieceCounts& counts() const;
  int64_t pairs() const { return counts().total(); }
  /// pairs() / N^2; 0 for no tokens.
  double density() const;
  bool contains(int64_t query, int64_t key) const;

  /// Hash of the pieces, the same in every process and on every machine. Equal patterns have equal ones.
  uint64_t identity() const;
  bool operator==(const Pattern& other) const;

  /// Bytes held, with the transpose once it was made.
  int64_t bytes() const;

  /// All pairs as sorted lists: for checks, exchange and composed forms, not for the hot path.
  Csr csr(const Parallel& parallel = SerialParallel()) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace longspan::patterns
