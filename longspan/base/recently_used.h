// Values that are dear to make are kept while they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace longspan {

/// Keeps the values asked for last, up to a number of bytes and of values, by keys that have an order. Thread-safe; of
/// two threads that miss the same value both may make it, and that of the faster one is kept.
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
    place_[key] = entries_.begin();
    if (entries_.size() > most_values_) erase(std::prev(entries_.end()));
    int64_t kept = 0;
    for (auto entry = entries_.begin(); entry != entries_.end();) {  // the newest always stays
      kept += bytes(entry->second);
      entry = kept > most_bytes_ && entry != entries_.begin() ? erase(entry) : std::next(entry);
    }
    return value;
  }

  /// Drops the values whose keys `drops` is true of.
  template <class Drops>
  void erase_if(const Drops& drops) {
    std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();)
      entry = drops(entry->first) ? erase(entry) : std::next(entry);
  }

  /// Bytes of all that is kept.
  template <class Bytes>
  int64_t kept(const Bytes& bytes) const {
    std::lock_guard lock(mutex_);
    int64_t sum = 0;
    for (const auto& [key, value] : entries_) sum += bytes(value);
    return sum;
  }

 private:
  using Entries = std::list<std::pair<Key, Value>>;

  /// Brings the entry of `key` to the front; false if there is none. Under the lock, as is the next.
  bool find(const Key& key) {
    const auto found = place_.find(key);
    if (found != place_.end()) entries_.splice(entries_.begin(), entries_, found->second);
    return found != place_.end();
  }
  typename Entries::iterator erase(typename Entries::iterator entry) {
    place_.erase(entry->first);
    return entries_.erase(entry);
  }

  const int64_t most_bytes_;
  const std::size_t most_values_;
  mutable std::mutex mutex_;
  Entries entries_;  ///< the one used last first
  std::map<Key, typename Entries::iterator> place_;
};

}  // namespace longspan
