#include "longspan/patterns/cache.h"

#include <algorithm>
#include <utility>

namespace longspan::patterns {

PatternCache::PatternCache(PatternOptions options, int64_t most_bytes)
    : options_(std::move(options)), most_bytes_(most_bytes) {
  check(options_);
}

Pattern PatternCache::get(int64_t n, const PatternInputs& inputs, const Parallel& parallel) {
  const auto known = [&] {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.n == n && entry.layer == inputs.layer && entry.seed == inputs.seed &&
             entry.global_tokens == inputs.global_tokens;
    });
    if (found == entries_.end()) return false;
    entries_.splice(entries_.begin(), entries_, found);
    return true;
  };
  {
    std::lock_guard lock(mutex_);
    if (known()) return entries_.front().pattern;
  }
  Pattern pattern = build_pattern(options_, n, inputs, parallel);
  std::lock_guard lock(mutex_);
  if (known()) return entries_.front().pattern;  // another thread was faster
  entries_.push_front({n, inputs.layer, inputs.seed, inputs.global_tokens, pattern});
  // Transposes are made after a pattern was put here, so sizes are asked for anew. The newest always stays.
  int64_t bytes = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    bytes += entry->pattern.bytes();
    entry = bytes > most_bytes_ && entry != entries_.begin() ? entries_.erase(entry) : std::next(entry);
  }
  return pattern;
}

int64_t PatternCache::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.pattern.bytes();
  return bytes;
}

}  // namespace longspan::patterns
