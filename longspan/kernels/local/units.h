// How local attention is cut into work: units of one head of one sequence over a range of positions, cut at absolute
// multiples, whatever the thread count. Shared by forward and backward; knows nothing of instruction sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/check.h"
#include "longspan/kernels/local/local.h"

namespace longspan::kernels {

/// Query rows of a tile; tiles, units and key blocks start at multiples of it.
inline constexpr int64_t kLocalTile = 16;

/// Position of query row 0 of sequence s on its key axis.
template <class S>
int64_t query_offset(const LocalParams<S>& params, int64_t s) {
  return params.keys.size(s) - params.queries.size(s);
}

/// Heads of keys and values, and query heads [first, last) that read one of them.
template <class S>
int64_t key_heads(const LocalParams<S>& params) {
  return params.key_heads == 0 ? params.heads : params.key_heads;
}
struct HeadGroup {
  int64_t first = 0;
  int64_t last = 0;
};
template <class S>
HeadGroup head_group(const LocalParams<S>& params, int64_t key_head) {
  const int64_t size = params.heads / key_heads(params);
  return {key_head * size, (key_head + 1) * size};
}

/// Dropout of a query head of a sequence, at positions on its key axis.
template <class S>
HeadDropout head_dropout(const LocalParams<S>& params, int64_t sequence, int64_t head) {
  if (params.dropout_origin == nullptr) return {params.dropout, sequence, head};
  const int64_t* origin = params.dropout_origin + 2 * sequence;
  return {params.dropout, origin[0], head, origin[1]};
}

/// Positions [first, last) on the key axis of one (sequence, key head), for all query heads that read it.
struct LocalUnit {
  int64_t sequence = 0;
  int64_t key_head = 0;
  int64_t number = 0;  ///< of the unit within the (sequence, key head)
  int64_t first = 0;
  int64_t last = 0;
};

/// Reaches of one sequence, cut to what its length lets them reach.
struct Reach {
  int64_t left = 0;
  int64_t right = 0;
};
template <class S>
Reach clamped_reach(const LocalParams<S>& params, int64_t keys) {
  const int64_t most = std::max<int64_t>(keys - 1, 0);
  return {std::min(params.reach_left, most), std::min(params.reach_right, most)};
}

/// Every unit of a call: sequences in order, within them key heads, within those positions; or positions before heads
/// where the heads of a row lie side by side in memory. The order is one of work, not of sums.
class LocalUnits {
 public:
  /// Cuts the key axis (or, `queries_only`, the part of it that has queries) at multiples of `length`.
  template <class S>
  LocalUnits(const LocalParams<S>& params, int64_t length, bool queries_only)
      : heads_(key_heads(params)), length_(length), heads_inside_(params.k.head_stride < params.k.row_stride) {
    sequences_.resize(static_cast<std::size_t>(params.sequences));
    for (int64_t s = 0; s < params.sequences; ++s) {
      Sequence& sequence = sequences_[static_cast<std::size_t>(s)];
      sequence.before = count_;
      sequence.last = params.keys.size(s);
      sequence.first_unit = queries_only ? query_offset(params, s) / length : 0;
      sequence.units = (sequence.last + length - 1) / length - sequence.first_unit;
      if (queries_only && params.queries.size(s) == 0) sequence.units = 0;
      count_ += sequence.units * heads_;
    }
  }

  int64_t count() const { return count_; }
  /// Units of each key head of a sequence.
  int64_t units(int64_t sequence) const { return sequences_[static_cast<std::size_t>(sequence)].units; }
  LocalUnit operator[](int64_t index) const {
    const auto after = std::upper_bound(sequences_.begin(), sequences_.end(), index,
                                        [](int64_t i, const Sequence& s) { return i < s.before; });
    const Sequence& sequence = *(after - 1);
    const int64_t within = index - sequence.before;
    LocalUnit unit;
    unit.sequence = after - 1 - sequences_.begin();
    unit.key_head = heads_inside_ ? within % heads_ : within / sequence.units;
    unit.number = heads_inside_ ? within / heads_ : within % sequence.units;
    unit.first = (sequence.first_unit + unit.number) * length_;
    unit.last = std::min(unit.first + length_, sequence.last);
    return unit;
  }

 private:
  struct Sequence {
    int64_t before = 0;  ///< units of the sequences before it
    int64_t first_unit = 0;
    int64_t units = 0;  ///< per key head
    int64_t last = 0;   ///< keys
  };
  std::vector<Sequence> sequences_;
  int64_t heads_ = 0;
  int64_t length_ = 0;
  bool heads_inside_ = false;
  int64_t count_ = 0;
};

/// Scratch that grows and is kept by one worker over its units.
template <class T>
class Scratch {
 public:
  T* reserve(int64_t size) {
    if (size > buffer_.size()) buffer_ = AlignedBuffer<T>(size);
    return buffer_.data();
  }

 private:
  AlignedBuffer<T> buffer_;
};

/// Rules that hold for forward and backward alike; throws InputError.
template <class S>
void check_local(const LocalParams<S>& params) {
  LONGSPAN_CHECK(params.key_heads >= 0 && (params.key_heads == 0 || params.heads % params.key_heads == 0),
                 "local attention: key_heads must divide ", params.heads, " heads, got ", params.key_heads);
  LONGSPAN_CHECK(params.dropout.probability >= 0 && params.dropout.probability < 1,
                 "local attention: dropout must be in [0, 1), got ", params.dropout.probability);
  LONGSPAN_CHECK(params.width >= 1, "local attention: width must be at least 1, got ", params.width);
  LONGSPAN_CHECK(params.value_width >= 1, "local attention: value_width must be at least 1, got ", params.value_width);
  LONGSPAN_CHECK(params.reach_left >= 0, "local attention: reach_left must not be negative, got ", params.reach_left);
  LONGSPAN_CHECK(params.reach_right >= 0, "local attention: reach_right must not be negative, got ",
                 params.reach_right);
  for (int64_t s = 0; s < params.sequences; ++s)
    LONGSPAN_CHECK(params.queries.size(s) >= 0 && params.queries.size(s) <= params.keys.size(s),
                   "local attention: queries of sequence ", s, " must be at most its ", params.keys.size(s),
                   " keys, got ", params.queries.size(s));
}

}  // namespace longspan::kernels
