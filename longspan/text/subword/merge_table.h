// Which two tokens of a BPE become one, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace longspan {

struct Merge {
  uint32_t rank = UINT32_MAX;  ///< lower comes first; UINT32_MAX: these two do not merge
  uint32_t id = 0;             ///< what they become
};

/// An open hash table by the pair; at most half full, so that a miss, the usual case, ends at once.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges = 0) {
    std::size_t size = 16;
    while (size < 2 * merges + 2) size *= 2;
    slots_.resize(size);
  }
  /// A pair that is there already is replaced. For at most as many pairs as the constructor was told.
  void set(uint32_t left, uint32_t right, Merge merge) {
    Slot& slot = slots_[place(key(left, right))];
    slot = {key(left, right), merge};
  }
  Merge find(uint32_t left, uint32_t right) const { return slots_[place(key(left, right))].merge; }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };
  static uint64_t key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  std::size_t place(uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    std::size_t at = (hash ^ hash >> 32) & mask;
    while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  std::vector<Slot> slots_;
};

}  // namespace longspan
