// Values that are dear to make are kept while they are used.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>

namespace longspan {

/// Keeps the values asked for last, up to a number of bytes. Thread-safe; two threads that miss the same value may both
/// make it.
template <class Key, class Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(int64_t most_bytes) : most_bytes_(most_bytes) {}

  /// The value of `key`, from make() the first time. bytes(value) may grow later: it is asked for at each miss.
  template <class Make, class Bytes>
  Value get(const Key& key, const Make& make, const Bytes& bytes) {
    {
      std::lock_guard lock(mutex_);
      for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
        if (entry->first == key) {
          entries_.splice(entries_.begin(), entries_, entry);
          return entry->second;
        }
    }
    Value value = make();
    std::lock_guard lock(mutex_);
    entries_.emplace_front(key, value);
    int64_t kept = 0;
    for (auto entry = entries_.begin(); entry != entries_.end();) {  // the newest always stays
      kept += bytes(entry->second);
      entry = kept > most_bytes_ && entry != entries_.begin() ? entries_.erase(entry) : std::next(entry);
    }
    return value;
  }

 private:
  const int64_t most_bytes_;
  std::mutex mutex_;
  std::list<std::pair<Key, Value>> entries_;  ///< the one used last first
};

}  // namespace longspan
