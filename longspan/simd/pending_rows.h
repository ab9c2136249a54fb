// Rows to be fetched into the cache while other work goes on.
#pragma once

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "longspan/base/check.h"

namespace longspan::simd {

/// A list of rows that will be read or written soon. A processor keeps a few dozen fetches under way and waits when it
/// is asked for more: so they are asked for a few at a time, between products that need none.
class PendingRows {
 public:
  /// Forgets what has not been asked for.
  void clear() {
    count_ = at_ = 0;
    rows_ = share_ = 0;
  }
  /// Adds `count` rows of `width` elements, `row_stride` elements apart, behind the others; none if count <= 0.
  template <class T>
  void add(const T* first, int64_t row_stride, int64_t width, int64_t count) {
    if (count <= 0) return;
    LONGSPAN_DCHECK(count_ < groups_.size(), "more than ", groups_.size(), " groups of rows");
    constexpr int64_t kSize = sizeof(T);
    groups_[count_++] = {reinterpret_cast<const char*>(first), row_stride * kSize, width * kSize, count};
    rows_ += count;
  }
  /// Divides the rows among `steps` calls of step().
  void share(int64_t steps) { share_ = (rows_ + steps - 1) / steps; }
  /// Asks for the next share.
  HWY_INLINE void step() {
    for (int64_t row = share_; row > 0 && at_ < count_; --row) {
      Group& group = groups_[at_];
      for (int64_t byte = 0; byte < group.bytes; byte += kLine) hwy::Prefetch(group.row + byte);
      group.row += group.stride;
      if (--group.left == 0) ++at_;
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  struct Group {
    const char* row;
    int64_t stride, bytes, left;
  };
  std::array<Group, 8> groups_ = {};
  std::size_t count_ = 0, at_ = 0;
  int64_t rows_ = 0, share_ = 0;
};

}  // namespace longspan::simd
