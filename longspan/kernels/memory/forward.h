// What the driver (forward_call.cc) passes to the code of one SIMD target (forward.cc).
#pragma once

#include <algorithm>
#include <cstdint>

#include "longspan/base/aligned.h"
#include "longspan/base/dropout.h"
#include "longspan/kernels/memory/basis.h"
#include "longspan/kernels/memory/rows.h"

namespace longspan::kernels::memory {

/// Consecutive rows of one sequence and head.
template <class T>
struct ReadRun {
  int64_t slots = 0, width = 0, rows = 0;
  double scale = 1;
  int64_t count = 0;  ///< position of the first row
  HeadDropout dropout;  ///< of the slots' reading weights
  Rows<const T> q;
  Rows<T> out;
  // Causal: the sums stand in the scratch.
  Rows<const T> m;
  int64_t window = 0;
  Accumulator accumulator = Accumulator::float64;
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
        factors(kTile * padded(slots)),
        rows(kTile * padded(width)),
        closed(2 * padded(slots)),
        open(2 * padded(slots)),
        visible(padded(slots)) {
    // The scan runs over whole vectors: sums of the padding start as zeros.
    for (AlignedBuffer<double>* x : {&closed, &open, &visible}) std::fill_n(x->data(), x->size(), 0.0);
    std::fill_n(z.data(), z.size(), T(0));
  }

  Basis<T> basis;
  AlignedBuffer<T> z, a;     ///< [kTile][padded(slots)]: projections and then memories, and scores and then weights
  AlignedBuffer<T> factors;  ///< of dropout, like a
  AlignedBuffer<T> rows;     ///< [kTile][padded(width)] of bfloat16 in float
  AlignedBuffer<double> closed, open;  ///< [words][padded(slots)]
  AlignedBuffer<double> visible;       ///< [padded(slots)]
};

/// Reads the rows and takes them into the sums of the scratch.
void read_causal(const ReadRun<float>& run, ForwardScratch<float>& scratch);
void read_causal(const ReadRun<double>& run, ForwardScratch<double>& scratch);
/// Takes the rows, of one chunk, into scratch.open only.
void add_projections(const ReadRun<float>& run, ForwardScratch<float>& scratch);
void add_projections(const ReadRun<double>& run, ForwardScratch<double>& scratch);
/// Reads run.h.
void read_full(const ReadRun<float>& run, ForwardScratch<float>& scratch);
void read_full(const ReadRun<double>& run, ForwardScratch<double>& scratch);

}  // namespace longspan::kernels::memory
