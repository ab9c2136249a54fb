// What the driver (backward_call.cc) passes to the code of one SIMD target (backward.cc).
#pragma once

#include <algorithm>
#include <cstdint>

#include "longspan/base/aligned.h"
#include "longspan/base/dropout.h"
#include "longspan/kernels/memory/basis.h"
#include "longspan/kernels/memory/rows.h"

namespace longspan::kernels::memory {

/// The rows of one chunk of a sequence and head.
template <class T>
struct GradientRun {
  int64_t slots = 0, width = 0, rows = 0;
  double scale = 1;
  int64_t count = 0;    ///< position of the first row
  HeadDropout dropout;  ///< of the slots' reading weights
  Rows<const T> q, dout;
  Rows<T> dq;
  // Causal. The gradient of m stays in the scratch, where the heads of a group add theirs up.
  Rows<const T> m;
  bool first_of_group = true;
  bool sums_alone = false;  ///< only dsums and pending are wanted
  int64_t window = 0;
  const double* closed = nullptr;   ///< [slots] sums before the chunk
  const double* open = nullptr;     ///< [slots] sums of the chunk before the first row; null for zeros
  const double* visible = nullptr;  ///< [slots] with a window: the memory of the first row
  // Full: the one memory row, padded(slots).
  const T* h = nullptr;

  /// [slots] out: causal, the gradient of the sums before the chunk, dh / count over the rows (with a window: of the
  /// windows that begin behind a row of the chunk); full, the sum of dh.
  double* dsums = nullptr;
  /// [slots] out, with a window: the sum of dh over the rows of the window that is under way at the first row.
  double* pending = nullptr;
};

/// Scratch of one worker.
template <class T>
struct BackwardScratch {
  BackwardScratch() = default;
  BackwardScratch(int64_t slots, int64_t width, int64_t group)
      : basis(slots, width),
        h(kMemoryChunk * padded(slots)),
        a(kTile * padded(slots)),
        du(kTile * padded(slots)),
        u(kTile * padded(slots)),
        da(kTile * padded(slots)),
        dz(kTile * padded(slots)),
        factors(kTile * padded(slots)),
        q(kTile * padded(width)),
        m(kTile * padded(width)),
        g(kTile * padded(width)),
        tile(kTile * padded(width)),
        dm(kMemoryChunk * padded(width)),
        dbasis(padded(slots) * padded(width)),
        addend(padded(width)),
        expanded(width),
        closed(padded(slots)),
        open(padded(slots)),
        visible(padded(slots)),
        suffix(padded(slots)),
        pending(padded(slots)),
        later(group * slots),
        later_pending(group * slots) {
    // Whole vectors are read: the padding of what the passes do not write is zero.
    for (AlignedBuffer<T>* x : {&h, &a, &du, &u, &da, &dz, &q, &m, &g, &addend})
      std::fill_n(x->data(), x->size(), T(0));
    for (AlignedBuffer<double>* x : {&closed, &open, &visible, &suffix, &pending})
      std::fill_n(x->data(), x->size(), 0.0);
  }

  Basis<T> basis;
  AlignedBuffer<T> h;                 ///< [kMemoryChunk][padded(slots)] memories of the chunk
  AlignedBuffer<T> a, du, u, da, dz;  ///< [kTile][padded(slots)]
  AlignedBuffer<T> factors;           ///< of dropout, [kTile][padded(slots)]
  AlignedBuffer<T> q, m, g;           ///< [kTile][padded(width)] copies: aligned, and whole vectors are readable
  AlignedBuffer<T> tile;              ///< [kTile][padded(width)] of a result
  AlignedBuffer<T> dm;                ///< [kMemoryChunk][padded(width)] of the chunk, without later chunks
  AlignedBuffer<T> dbasis;            ///< [padded(slots)][padded(width)] sum over one chunk
  AlignedBuffer<T> addend;            ///< [padded(width)] what later chunks add to rows of dm
  AlignedBuffer<double> expanded;     ///< [width] the same before it is rounded
  AlignedBuffer<double> closed, open, visible, suffix, pending;
  /// [group][slots]: what the chunks behind the present one ask of its sums; and, with a window, the part of the window
  /// under way at their beginning.
  AlignedBuffer<double> later, later_pending;
};

/// Gradients of one chunk: dq in place, dm and dbasis in the scratch.
void chunk_gradient(const GradientRun<float>& run, BackwardScratch<float>& scratch);
void chunk_gradient(const GradientRun<double>& run, BackwardScratch<double>& scratch);

}  // namespace longspan::kernels::memory
