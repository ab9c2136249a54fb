// What backward.cc passes from the plain driver to the code of one SIMD target.
#pragma once

#include <cstdint>

#include "longspan/base/aligned.h"
#include "longspan/kernels/memory/basis.h"

namespace longspan::kernels::memory {

/// The rows of one chunk of a sequence and head; strides in elements.
template <class T>
struct GradientRun {
  int64_t slots = 0, width = 0, rows = 0;
  double scale = 1;
  const T* q = nullptr;
  const T* dout = nullptr;
  T* dq = nullptr;
  int64_t q_stride = 0, dout_stride = 0, dq_stride = 0;
  // Causal.
  const T* m = nullptr;
  T* dm = nullptr;
  int64_t m_stride = 0, dm_stride = 0;
  int64_t count = 0;               ///< positions before the first row
  const double* closed = nullptr;  ///< [slots] sums before the chunk
  const double* open = nullptr;    ///< [slots] sums of the chunk before the first row; null for zeros
  const T* addend = nullptr;       ///< [padded(width)] what later chunks add to every row of dm; null: added elsewhere
  // Full: the one memory row, padded(slots).
  const T* h = nullptr;

  double* dsums = nullptr;  ///< [slots] out: causal, sum of dh / count over the rows; full, sum of dh
};

/// Scratch of one worker.
template <class T>
struct BackwardScratch {
  BackwardScratch() = default;
  BackwardScratch(int64_t slots, int64_t width)
      : basis(slots, width),
        h(kMemoryChunk * padded(slots)),
        a(kTile * padded(slots)),
        du(kTile * padded(slots)),
        u(kTile * padded(slots)),
        da(kTile * padded(slots)),
        dz(kTile * padded(slots)),
        q(kTile * padded(width)),
        m(kTile * padded(width)),
        g(kTile * padded(width)),
        dbasis(padded(slots) * padded(width)),
        addend(padded(width)),
        closed(padded(slots)),
        open(padded(slots)),
        suffix(padded(slots)),
        later(slots) {
    // Whole vectors are read: the padding of what the passes do not write is zero.
    for (AlignedBuffer<T>* x : {&h, &a, &du, &u, &da, &dz, &q, &m, &g, &addend})
      std::fill_n(x->data(), x->size(), T(0));
    for (AlignedBuffer<double>* x : {&closed, &open, &suffix}) std::fill_n(x->data(), x->size(), 0.0);
  }

  Basis<T> basis;
  AlignedBuffer<T> h;                 ///< [kMemoryChunk][padded(slots)] memories of the chunk
  AlignedBuffer<T> a, du, u, da, dz;  ///< [kTile][padded(slots)]
  AlignedBuffer<T> q, m, g;           ///< [kTile][padded(width)] copies: aligned, and whole vectors are readable
  AlignedBuffer<T> dbasis;            ///< [padded(slots)][padded(width)] sum over one chunk
  AlignedBuffer<T> addend;
  AlignedBuffer<double> closed, open, suffix;
  AlignedBuffer<double> later;  ///< gradient of the sums that the chunks behind the present one ask for
};

}  // namespace longspan::kernels::memory
