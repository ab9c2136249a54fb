// Chunks of a sequence and the scratch in which one is computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "longspan/base/aligned.h"
#include "longspan/kernels/delta/delta_memory.h"

namespace longspan::kernels::delta {

/// Padding of scratch rows in elements, a multiple of every vector length and of every block of rows.
inline constexpr int64_t kPad = 16;
inline constexpr int64_t padded(int64_t size) { return (size + kPad - 1) / kPad * kPad; }

/// Places [begin, end) of a chunk are the rows row, row + 1, ... of the call; those before `begin` came in the state.
struct Chunk {
  int64_t row, begin, end;
};

/// The chunks of one sequence. There is at least one, so that a state passes through a call without rows.
class Chunks {
 public:
  template <class S>
  Chunks(const DeltaParams<S>& p, int64_t s)
      : rows_(p.rows.size(s)), carried_(p.state.position ? p.state.position[s] % kDeltaChunk : 0) {}

  int64_t count() const { return std::max<int64_t>(1, (carried_ + rows_ + kDeltaChunk - 1) / kDeltaChunk); }
  Chunk at(int64_t c) const {
    const int64_t begin = c == 0 ? carried_ : 0, row = c == 0 ? 0 : c * kDeltaChunk - carried_;
    return {row, begin, std::min(kDeltaChunk, begin + rows_ - row)};
  }
  int64_t segments() const { return (count() + kDeltaSegment - 1) / kDeltaSegment; }

 private:
  int64_t rows_, carried_;
};

/// What is computed of one chunk. Places are rows of each array; C = kDeltaChunk.
template <class T>
struct ChunkScratch {
  ChunkScratch() = default;
  ChunkScratch(int64_t slots, int64_t width)
      : r(padded(slots)),
        d(padded(width)),
        k(kDeltaChunk * r),
        q(kDeltaChunk * r),
        kd(kDeltaChunk * r),
        qd(kDeltaChunk * r),
        kg(kDeltaChunk * r),
        kt(kDeltaChunk * r),
        alpha(kDeltaChunk * r),
        running(kDeltaChunk * r),
        total(r),
        a(kDeltaChunk * kDeltaChunk),
        p(kDeltaChunk * kDeltaChunk),
        pair(kDeltaChunk * kDeltaChunk),
        beta(kDeltaChunk),
        own_w(kDeltaChunk * d),
        own_state(r * d),
        w(own_w.data()),
        state(own_state.data()) {}
  bool empty() const { return r == 0; }

  int64_t r = 0, d = 0;      ///< padded slots and width: strides
  AlignedBuffer<T> k, q;     ///< [C][r], zeros behind the slots and in places without a row
  AlignedBuffer<T> kd, qd;   ///< the same times the decay since the chunk's beginning
  AlignedBuffer<T> kg;       ///< k times the decay to the chunk's end
  AlignedBuffer<T> kt;       ///< [r][C] k transposed
  AlignedBuffer<T> alpha;    ///< [C] or, per slot, [C][r]
  AlignedBuffer<T> running;  ///< [r][C] decay per slot from each place to the present one
  AlignedBuffer<T> total;    ///< [r] the decay over the whole chunk
  AlignedBuffer<T> a, p;     ///< [C][C] (G o K K^T) below the diagonal; (G o Q K^T) up to it; zeros elsewhere
  AlignedBuffer<T> pair;     ///< [C][C] G, scalar decay: the decay from place j (column) to place t (row)
  AlignedBuffer<T> beta;     ///< [C], 0 in places without a row of the call
  AlignedBuffer<T> own_w, own_state;
  T* w = nullptr;      ///< [C][d] v, then the writes beta e; own_w, or where a caller keeps them
  T* state = nullptr;  ///< [r][d] before the chunk; own_state, or where a caller keeps it
};

/// Sequence and head number `s * heads + h` in the arrays of the state.
template <class S>
int64_t pair_of(const DeltaParams<S>& p, int64_t s, int64_t h) {
  return s * p.heads + h;
}

/// to [rows][stride] = from [rows][width], zeros for null and behind the width.
template <class T>
void load_state(const T* from, int64_t rows, int64_t width, T* to, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    if (from) std::copy_n(from + i * width, width, to + i * stride);
    std::fill(to + i * stride + (from ? width : 0), to + (i + 1) * stride, T(0));
  }
}
/// The same for a whole state, with zeros in the rows behind the slots, where another head may have left NaN.
template <class T>
void load_memory(const T* from, int64_t slots, int64_t width, T* to, int64_t stride) {
  load_state(from, slots, width, to, stride);
  std::fill(to + slots * stride, to + padded(slots) * stride, T(0));
}
template <class T>
void store_state(const T* from, int64_t stride, int64_t rows, int64_t width, T* to) {
  for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * stride, width, to + i * width);
}

/// The same head of an array [S, H, rows, width], or null.
template <class T>
T* head_of(T* data, int64_t pair, int64_t size) {
  return data ? data + pair * size : nullptr;
}

}  // namespace longspan::kernels::delta
