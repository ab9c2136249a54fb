// The basis of one head as the panel products read it.
#pragma once

#include <cstdint>

#include "longspan/base/aligned.h"
#include "longspan/kernels/memory/plan.h"

namespace longspan::kernels::memory {

/// Both orientations of a head's basis, zero-padded; a worker keeps them while it stays on the head.
template <class T>
class Basis {
 public:
  Basis() = default;
  Basis(int64_t slots, int64_t width)
      : slots_(slots), width_(width), transposed_(width * padded(slots)), copy_(slots * padded(width)) {}

  /// `basis` [slots][width] stays where it is while this is used.
  void load(const T* basis);

  /// [width][padded(slots)]: projects features and queries onto the slots.
  const T* transposed() const { return transposed_.data(); }
  int64_t transposed_stride() const { return padded(slots_); }
  /// [slots][padded(width)]: expands slot weights to the width.
  const T* rows() const { return rows_; }
  int64_t rows_stride() const { return padded(width_); }

 private:
  int64_t slots_ = 0, width_ = 0;
  AlignedBuffer<T> transposed_, copy_;
  const T* loaded_ = nullptr;
  const T* rows_ = nullptr;
};

}  // namespace longspan::kernels::memory
