// Patterns that were made are kept: texts of one length, layers and steps share one.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include "longspan/patterns/build.h"

namespace longspan::patterns {

/// Keeps the patterns used last, up to a number of bytes. Of one set of options: the key is (length, layer, seed,
/// global tokens). Thread-safe; of two threads that miss the same pattern both may make it, and one's is
/// kept.
class PatternCache {
 public:
  /// Throws InputError for options that check() refuses.
  explicit PatternCache(PatternOptions options, int64_t most_bytes = int64_t{1} << 30);

  /// build_pattern(options, n, inputs), or an equal one made before. Edges must be the same at each call.
  Pattern get(int64_t n, const PatternInputs& inputs, const Parallel& parallel = SerialParallel());

  const PatternOptions& options() const { return options_; }
  int64_t bytes() const;

 private:
  struct Entry {
    int64_t n, layer;
    uint64_t seed;
    std::optional<std::vector<int64_t>> global_tokens;
    Pattern pattern;
  };

  const PatternOptions options_;
  const int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< the one used last first
};

}  // namespace longspan::patterns
