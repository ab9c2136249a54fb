// What forward.cc passes from the plain driver to the code of one SIMD target.
#pragma once

#include <cstdint>

#include "longspan/base/aligned.h"
#include "longspan/kernels/memory/basis.h"

namespace longspan::kernels::memory {

/// Consecutive rows of one sequence and head; strides in elements.
template <class T>
struct ReadRun {
  int64_t slots = 0, width = 0, rows = 0;
  double scale = 1;
  const T* q = nullptr;
  int64_t q_stride = 0;
  T* out = nullptr;
  int64_t out_stride = 0;
  // Causal: the sums stand in the scratch.
  const T* m = nullptr;
  int64_t m_stride = 0;
  int64_t count = 0;  ///< positions before the first row
  // Full: the one memory row, padded(slots).
  const T* h = nullptr;
};

/// Scratch of one worker.
template <class T>
struct ForwardScratch {
  ForwardScratch() = default;
  ForwardScratch(int64_t slots, int64_t width)
      : basis(slots, width),
        z(kTile * padded(slots)),
        a(kTile * padded(slots)),
        closed(padded(slots)),
        open(padded(slots)) {
    // The scan runs over whole vectors: sums of the padding start as zeros.
    std::fill_n(closed.data(), closed.size(), 0.0);
    std::fill_n(open.data(), open.size(), 0.0);
    std::fill_n(z.data(), z.size(), T(0));
  }

  Basis<T> basis;
  AlignedBuffer<T> z, a;  ///< [kTile][padded(slots)]: projections and then memories, and scores and then weights
  AlignedBuffer<double> closed, open;
};

}  // namespace longspan::kernels::memory
