// Values that are dear to make are kept while they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>

namespace longspan {

/// Keeps the values asked for last, up to a number of bytes and of values, among which it looks one by one.
/// Thread-safe; of two threads that miss the same value both may make it, and that of the faster one is kept.
template <class Key, class Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(int64_t most_bytes, std::size_t most_values = 512)
      : most_bytes_(most_bytes), most_values_(most_values) {}

  /// The value of `key`, from make() the first time. bytes(value) may grow later: it is asked for at each miss.
  template <class Make, class Bytes>
  Value get(const Key& key, const Make& make, const Bytes& bytes) {
    {
      std::lock_guard lock(mutex_);
      if (find(key)) return entries_.front().second;
    }
    Value value = make();
    std::lock_guard lock(mutex_);
    if (find(key)) return entries_.front().second;
    entries_.emplace_front(key, value);
    if (entries_.size() > most_values_) entries_.pop_back();
    int64_t kept = 0;
    for (auto entry = entries_.begin(); entry != entries_.end();) {  // the newest always stays
      kept += bytes(entry->second);
      entry = kept > most_bytes_ && entry != entries_.begin() ? entries_.erase(entry) : std::next(entry);
    }
    return value;
  }

 private:
  /// Brings the entry of `key` to the front; false if there is none. Under the lock.
  bool find(const Key& key) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->first == key) {
        entries_.splice(entries_.begin(), entries_, entry);
        return true;
      }
    return false;
  }

  const int64_t most_bytes_;
  const std::size_t most_values_;
  std::mutex mutex_;
  std::list<std::pair<Key, Value>> entries_;  ///< the one used last first
};

}  // namespace longspan
