// Memory of large blocks that come and go, step after step, in the same sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace longspan {

/// Keeps the memory of freed blocks for the next ones. Taking pages from the system and giving them back costs a tenth
/// to a quarter of a training step; keeping them as malloc does costs up to twice the memory, for what lies between
/// live blocks fits no new one. A pool bounds what it holds by construction:
///
///   held <= (1 + margin) * most + 2 huge pages,    most = the most bytes that live blocks had at any moment
///
/// held = live + cached. Where a block finds no room among what is cached, it gets a piece of address space without
/// memory, and as much of the cache goes back to the system first as the bound asks for. A block has the size that was
/// asked for, rounded up to whole pages; freed neighbours are one again. Thread-safe.
class PagePool {
 public:
  static constexpr std::size_t kPage = 4096;  ///< every block begins at a multiple of it
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  struct Options {
    double margin = 1.0 / 16;
    bool huge_pages = true;  ///< ask the system for pages of 2 MiB: fewer faults and misses of the TLB
  };

  struct Statistics {
    std::size_t live = 0;        ///< bytes of blocks in use, in whole pages
    std::size_t live_peak = 0;   ///< since the beginning or the last release_cached()
    std::size_t cached = 0;      ///< of freed ones whose memory is kept
    std::size_t held_peak = 0;   ///< of live + cached, since the same moment
    std::size_t blocks = 0;      ///< in use
    std::size_t hits = 0;        ///< blocks served from the cache alone
    std::size_t misses = 0;      ///< blocks for which the system had to give memory
    std::size_t taken = 0;       ///< bytes that it gave
    std::size_t given_back = 0;  ///< bytes that it got back
  };

  PagePool() : PagePool(Options{}) {}
  explicit PagePool(Options options);
  /// Gives everything back; blocks in use are gone with it.
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// `bytes` >= 1 at a multiple of kPage; what they hold is undefined. Null when the system has no memory, with or
  /// without the cache.
  void* allocate(std::size_t bytes);
  /// Whether `block` is one of this pool, in use.
  bool owns(const void* block) const;
  /// Whether `block` was one of this pool, in use; it is free then.
  bool free(void* block);
  /// Gives back what no block uses, address space included, and lets live_peak begin anew. Returns its bytes.
  std::size_t release_cached();
  Statistics statistics() const;

 private:
  /// empty: address space of ours without memory.
  enum class State { live, cached, empty };
  struct Range {
    std::size_t size;
    State state;
  };
  using Address = char*;
  using Ranges = std::map<Address, Range>;  ///< without overlaps; neighbours of one state, live apart, are one
  struct Window {
    Address begin = nullptr;
    std::size_t empty = 0;  ///< bytes of it
  };

  void* take(std::size_t size);
  Window best_window(std::size_t size) const;
  bool grow(std::size_t size);
  void set_state(Address begin, std::size_t size, State state);
  Ranges::iterator split(Address at);
  void join(Ranges::iterator range);
  void list(const Ranges::iterator& range);
  void unlist(const Ranges::iterator& range);
  std::size_t bound(std::size_t live) const;
  void give_back(std::size_t bytes, Address keep_begin, Address keep_end);
  void unmap_empty();

  Options options_;
  mutable std::mutex mutex_;
  Ranges ranges_;
  std::set<std::pair<std::size_t, Address>> cached_;  ///< by size
  Statistics statistics_;
};

}  // namespace longspan
