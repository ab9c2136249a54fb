// Scratch of the backward pass.
#pragma once

#include <cstdint>

#include "longspan/base/aligned.h"
#include "longspan/kernels/delta/chunk.h"

namespace longspan::kernels::delta {

/// Scratch of one worker: a segment's states and writes, and what is computed of one chunk. Numbers for each of
/// kDeltaSegment chunks: (R + 2 C) D. C = kDeltaChunk; r, d as in ChunkScratch.
template <class T>
struct GradientScratch {
  GradientScratch() = default;
  GradientScratch(int64_t slots, int64_t width)
      : chunk(slots, width),
        states((kDeltaSegment + 1) * chunk.r * chunk.d),
        writes(kDeltaSegment * kDeltaChunk * chunk.d),
        errors(kDeltaSegment * kDeltaChunk * chunk.d),
        dstate(chunk.r * chunk.d),
        state_t(chunk.d * chunk.r),
        dstate_t(chunk.d * chunk.r),
        dout(kDeltaChunk * chunk.d),
        dw(kDeltaChunk * chunk.d),
        de(kDeltaChunk * chunk.d),
        wt(chunk.d * kDeltaChunk),
        dp(kDeltaChunk * kDeltaChunk),
        da(kDeltaChunk * kDeltaChunk),
        dq(kDeltaChunk * chunk.r),
        dq_state(kDeltaChunk * chunk.r),
        dk_row(kDeltaChunk * chunk.r),
        dk_column(kDeltaChunk * chunk.r),
        dk_error(kDeltaChunk * chunk.r),
        dk_end(kDeltaChunk * chunk.r),
        at_row(kDeltaChunk * chunk.r),
        at_end(kDeltaChunk * chunk.r),
        whole(chunk.r),
        dbeta(kDeltaChunk) {}
  bool empty() const { return chunk.empty(); }

  ChunkScratch<T> chunk;
  AlignedBuffer<T> states;             ///< [kDeltaSegment + 1][r][d] before each chunk, and behind the last
  AlignedBuffer<T> writes, errors;     ///< [kDeltaSegment][C][d] w and e
  AlignedBuffer<T> dstate;             ///< [r][d] gradient of the state behind the chunk, then before it
  AlignedBuffer<T> state_t, dstate_t;  ///< [d][r] transposed
  AlignedBuffer<T> dout, dw, de;       ///< [C][d]
  AlignedBuffer<T> wt;                 ///< [d][C] w transposed
  AlignedBuffer<T> dp, da;             ///< [C][C] gradients of p and a (scalar decay: times G), masked like them
  AlignedBuffer<T> dq;                 ///< [C][r] from the pairs, then the whole
  AlignedBuffer<T> dq_state;           ///< [C][r] S_0 do_t
  AlignedBuffer<T> dk_row, dk_column;  ///< [C][r] from the pairs: of the later row of a, of the earlier row of a and p
  AlignedBuffer<T> dk_error;           ///< [C][r] S_0 de_t
  AlignedBuffer<T> dk_end;             ///< [C][r] dS w_t
  /// [C][r] what each row asks of the decays up to it, and of those behind it; [r] what the state before the chunk asks
  /// of all of them.
  AlignedBuffer<T> at_row, at_end, whole;
  AlignedBuffer<T> dbeta;  ///< [C]
};

}  // namespace longspan::kernels::delta
