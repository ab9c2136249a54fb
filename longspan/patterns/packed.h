// A pattern as one array of 32-bit words, its transpose included: how operators take it, so that it can be a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/base/pattern_view.h"
#include "longspan/patterns/pattern.h"

namespace longspan::patterns {

/// The words, in the byte order of the machine: a header with magic, version, sizes and a check sum, then the arrays of
/// PatternView and TransposedPatternView, of which the lists of rows are stored as their lengths.
std::vector<int32_t> pack(const Pattern& pattern, const Parallel& parallel = SerialParallel());

/// Reads packed words in place. Every index that a kernel follows is checked to be in bounds, and every order that one
/// relies on to hold, so that no words, whatever they are, can make it read or write elsewhere.
class PackedPattern {
 public:
  /// `words` must live as long as this. Throws InputError "<origin>: ..." for words that pack() did not write. Time: a
  /// few operations for each word.
  PackedPattern(std::span<const int32_t> words, const std::string& origin);
  PackedPattern(PackedPattern&&) = default;
  PackedPattern& operator=(PackedPattern&&) = default;

  /// Live as long as this and the words.
  const PatternView& view() const { return view_; }
  const TransposedPatternView& transposed() const { return transposed_; }
  /// A copy that stands alone.
  Pattern pattern() const;

 private:
  PatternView view_;
  TransposedPatternView transposed_;
  // First elements of the lists' rows, which are stored as lengths.
  std::vector<int64_t> block_begin_, rest_begin_, transposed_block_begin_, transposed_rest_begin_;
};

/// The check sum of words that pack() wrote and nobody changed; none for others. It is read at memory's speed: words
/// that were checked once need no more to be known again.
std::optional<uint64_t> intact_sum(std::span<const int32_t> words);

namespace internal {
/// Puts the check sum of changed words right: for tests of what is checked besides.
void forge_check_sum(std::span<int32_t> words);
}  // namespace internal

}  // namespace longspan::patterns
