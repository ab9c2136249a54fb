#include "longspan/base/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace longspan {

namespace {

/// Where the first block is looked for: this far below what the system would choose. Pieces of address space are then
/// put below each other, with nobody else's between them, so that freed neighbours join.
constexpr std::size_t kOwnSpace = std::size_t{64} << 30;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

char* round_up(char* at, std::size_t unit) { return at + (unit - reinterpret_cast<std::uintptr_t>(at) % unit) % unit; }

char* round_down(char* at, std::size_t unit) { return at - reinterpret_cast<std::uintptr_t>(at) % unit; }

char* map_at(char* hint, std::size_t size, int flags) {
  void* at = ::mmap(hint, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

/// `size` bytes of address space at a multiple of `unit`, near `hint` if that is free; null when there are none.
char* map_aligned(char* hint, std::size_t size, std::size_t unit) {
  char* const raw = map_at(hint, size + unit, 0);
  if (!raw) return nullptr;
  char* const begin = round_up(raw, unit);
  if (begin > raw) ::munmap(raw, static_cast<std::size_t>(begin - raw));
  if (const auto rest = static_cast<std::size_t>(raw + size + unit - (begin + size)); rest > 0)
    ::munmap(begin + size, rest);
  return begin;
}

}  // namespace

PagePool::PagePool(Options options) : options_(options) {}

PagePool::~PagePool() {
  for (const auto& [begin, range] : ranges_) {
    ASAN_UNPOISON_MEMORY_REGION(begin, range.size);
    ::munmap(begin, range.size);
  }
}

void* PagePool::allocate(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX - kHugePage) return nullptr;
  const std::lock_guard lock(mutex_);
  void* const block = take(round_up(bytes, kPage));
  if (block) ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

bool PagePool::owns(const void* block) const {
  const std::lock_guard lock(mutex_);
  const auto range = ranges_.find(static_cast<Address>(const_cast<void*>(block)));
  return range != ranges_.end() && range->second.state == State::live;
}

bool PagePool::free(void* block) {
  const std::lock_guard lock(mutex_);
  const auto range = ranges_.find(static_cast<Address>(block));
  if (range == ranges_.end() || range->second.state != State::live) return false;
  ASAN_POISON_MEMORY_REGION(range->first, range->second.size);
  statistics_.live -= range->second.size;
  statistics_.cached += range->second.size;
  --statistics_.blocks;
  range->second.state = State::cached;
  join(range);
  return true;
}

std::size_t PagePool::release_cached() {
  const std::lock_guard lock(mutex_);
  const std::size_t released = statistics_.cached;
  give_back(released, nullptr, nullptr);
  unmap_empty();
  statistics_.live_peak = statistics_.live;
  statistics_.held_peak = statistics_.live + statistics_.cached;
  return released;
}

PagePool::Statistics PagePool::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

/// The smallest cached range that holds a block, or else the window of free address space with the most memory in it.
void* PagePool::take(std::size_t size) {
  Window window;
  if (const auto fit = cached_.lower_bound({size, nullptr}); fit != cached_.end()) {
    window = {fit->second, 0};
    ++statistics_.hits;
  } else {
    window = best_window(size);
    if (!window.begin) {
      if (!grow(size)) return nullptr;
      window = best_window(size);
    }
    Address begin = window.begin, end = begin + size;
    if (options_.huge_pages) {
      // The first touch of a huge page without memory fills all of it, what no block has yet included.
      const auto untouched = [this](Address from, Address to) {
        const auto range = std::prev(ranges_.upper_bound(from));
        return range->second.state == State::empty && range->first + range->second.size >= to;
      };
      const Address low = round_down(begin, kHugePage), high = round_up(end, kHugePage);
      if (low < begin && untouched(low, begin)) window.empty += static_cast<std::size_t>(begin - low), begin = low;
      if (high > end && untouched(end, high)) window.empty += static_cast<std::size_t>(high - end), end = high;
    }
    const std::size_t held = statistics_.live + statistics_.cached + window.empty;
    const std::size_t most = bound(std::max(statistics_.live_peak, statistics_.live + size));
    if (held > most) give_back(held - most, begin, end);
    statistics_.cached += window.empty;
    statistics_.taken += window.empty;
    ++statistics_.misses;
    set_state(begin, static_cast<std::size_t>(end - begin), State::cached);
  }
  set_state(window.begin, size, State::live);
  statistics_.cached -= size;
  statistics_.live += size;
  statistics_.live_peak = std::max(statistics_.live_peak, statistics_.live);
  statistics_.held_peak = std::max(statistics_.held_peak, statistics_.live + statistics_.cached);
  ++statistics_.blocks;
  return window.begin;
}

std::size_t PagePool::bound(std::size_t live) const {
  return live + static_cast<std::size_t>(options_.margin * static_cast<double>(live));
}

/// Windows begin or end where a range does. None where no free neighbours have `size` bytes together.
PagePool::Window PagePool::best_window(std::size_t size) const {
  Window best;
  std::size_t best_run = 0;
  for (auto run = ranges_.begin(); run != ranges_.end();) {
    if (run->second.state == State::live) {
      ++run;
      continue;
    }
    // [begins[i], begins[i + 1]) has memory[i + 1] - memory[i] bytes of memory.
    std::vector<Address> begins{run->first};
    std::vector<std::size_t> memory{0};
    for (; run != ranges_.end() && run->second.state != State::live && run->first == begins.back(); ++run) {
      begins.push_back(run->first + run->second.size);
      memory.push_back(memory.back() + (run->second.state == State::cached ? run->second.size : 0));
    }
    const auto length = static_cast<std::size_t>(begins.back() - begins.front());
    if (length < size) continue;
    const auto memory_before = [&](Address at) {
      const auto i =
          static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end() - 1, at) - begins.begin() - 1);
      return memory[i] + (memory[i + 1] > memory[i] ? static_cast<std::size_t>(at - begins[i]) : 0);
    };
    const auto offer = [&](Address begin) {
      if (begin < begins.front() || begin + size > begins.back()) return;
      const std::size_t empty = size - (memory_before(begin + size) - memory_before(begin));
      if (best.begin && (empty > best.empty || (empty == best.empty && length >= best_run))) return;
      best = {begin, empty};
      best_run = length;
    };
    for (const Address at : begins) {
      offer(at);
      offer(at - size);
    }
  }
  return best;
}

/// Adds address space without memory below what there is, so much that a window of `size` bytes is free.
bool PagePool::grow(std::size_t size) {
  const auto add = [this](Address begin, std::size_t bytes) {
    if (options_.huge_pages) ::madvise(begin, bytes, MADV_HUGEPAGE);
    ASAN_POISON_MEMORY_REGION(begin, bytes);
    join(ranges_.emplace(begin, Range{bytes, State::empty}).first);
    return true;
  };
  const auto lowest = [this] { return ranges_.empty() ? nullptr : ranges_.begin()->first; };
  if (const Address low = lowest()) {
    std::size_t there = 0;
    for (const auto& [begin, range] : ranges_) {
      if (range.state == State::live || begin != low + there) break;
      there += range.size;
    }
    const std::size_t bytes = round_up(size - there, kHugePage);
    const Address below = bytes < reinterpret_cast<std::uintptr_t>(low) ? low - bytes : nullptr;
    if (const Address begin = below ? map_at(below, bytes, MAP_FIXED_NOREPLACE) : nullptr) {
      if (begin == below) return add(begin, bytes);
      ::munmap(begin, bytes);  // a system that does not know the flag
    }
  }
  const std::size_t bytes = round_up(size, kHugePage);
  const auto anywhere = [&] {
    Address hint = nullptr;
    if (ranges_.empty()) {
      if (const Address usual = map_at(nullptr, bytes, 0)) {
        ::munmap(usual, bytes);
        hint = usual - kOwnSpace;
      }
    }
    return map_aligned(hint, bytes, kHugePage);
  };
  Address begin = anywhere();
  if (!begin) {
    give_back(statistics_.cached, nullptr, nullptr);
    unmap_empty();
    begin = anywhere();
  }
  return begin && add(begin, bytes);
}

/// Gives the memory of cached ranges outside [keep_begin, keep_end) back, `bytes` of it or all there is: whole huge
/// pages first, since half of one is given back when memory is short only; small ranges first, which fit fewer blocks.
void PagePool::give_back(std::size_t bytes, Address keep_begin, Address keep_end) {
  for (const std::size_t unit : {kHugePage, kPage}) {
    const std::vector<std::pair<std::size_t, Address>> ranges(cached_.begin(), cached_.end());
    for (const auto& [range_size, range_begin] : ranges) {
      const Address range_end = range_begin + range_size;
      const std::pair<Address, Address> parts[] = {{range_begin, std::clamp(keep_begin, range_begin, range_end)},
                                                   {std::clamp(keep_end, range_begin, range_end), range_end}};
      for (const auto& part : parts) {
        if (bytes == 0) return;
        const Address begin = round_up(part.first, unit), end = round_down(part.second, unit);
        if (begin >= end) continue;
        const std::size_t size = std::min(static_cast<std::size_t>(end - begin), round_up(bytes, unit));
        if (::madvise(begin, size, MADV_DONTNEED) != 0) continue;
        statistics_.cached -= size;
        statistics_.given_back += size;
        bytes -= std::min(bytes, size);
        set_state(begin, size, State::empty);
      }
    }
  }
}

void PagePool::unmap_empty() {
  for (auto range = ranges_.begin(); range != ranges_.end();) {
    const auto next = std::next(range);
    if (range->second.state == State::empty && ::munmap(range->first, range->second.size) == 0) {
      ASAN_UNPOISON_MEMORY_REGION(range->first, range->second.size);
      ranges_.erase(range);
    }
    range = next;
  }
}

/// [begin, begin + size) lies within ranges of ours.
void PagePool::set_state(Address begin, std::size_t size, State state) {
  const auto first = split(begin), last = split(begin + size);
  for (auto range = first; range != last;) {
    unlist(range);
    range = range == first ? std::next(range) : ranges_.erase(range);
  }
  first->second = {size, state};
  join(first);
}

/// The range that begins at `at`, cut off from the one before if need be.
PagePool::Ranges::iterator PagePool::split(Address at) {
  const auto next = ranges_.lower_bound(at);
  if (next == ranges_.begin() || (next != ranges_.end() && next->first == at)) return next;
  const auto before = std::prev(next);
  const Address end = before->first + before->second.size;
  if (end <= at) return next;
  unlist(before);
  const Range rest{static_cast<std::size_t>(end - at), before->second.state};
  before->second.size -= rest.size;
  const auto range = ranges_.emplace_hint(next, at, rest);
  list(before);
  list(range);
  return range;
}

/// Joins a range that is not listed with its neighbours of the same state, unless it is live, and lists it.
void PagePool::join(Ranges::iterator range) {
  const auto joins = [](const Ranges::iterator& left, const Ranges::iterator& right) {
    return left->second.state != State::live && left->second.state == right->second.state &&
           left->first + left->second.size == right->first;
  };
  if (const auto next = std::next(range); next != ranges_.end() && joins(range, next)) {
    unlist(next);
    range->second.size += next->second.size;
    ranges_.erase(next);
  }
  if (range != ranges_.begin() && joins(std::prev(range), range)) {
    const auto before = std::prev(range);
    unlist(before);
    before->second.size += range->second.size;
    ranges_.erase(range);
    range = before;
  }
  list(range);
}

void PagePool::list(const Ranges::iterator& range) {
  if (range->second.state == State::cached) cached_.emplace(range->second.size, range->first);
}

void PagePool::unlist(const Ranges::iterator& range) {
  if (range->second.state == State::cached) cached_.erase({range->second.size, range->first});
}

}  // namespace longspan
