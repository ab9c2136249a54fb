// Delta memory: a matrix state that decays and is written by a delta rule (or by plain addition), read by a product.
//
//     S' = Diag(alpha_t) S_{t-1};   e_t = v_t - S'^T k_t (delta on), v_t (off);   S_t = S' + beta_t k_t e_t^T
//     o_t = S_t^T q_t
//
// (docs/ops/delta_memory.md). Computed in chunks of kDeltaChunk positions, cut at multiples of it of the absolute
// position; every number is one chain of operations that depends on the position and the rows before it alone. So bits
// depend neither on threads, batch-mates, packing and the total length nor on how a stream is cut into calls.
#pragma once

#include <cstdint>

#include "longspan/base/bfloat16.h"
#include "longspan/base/parallel.h"
#include "longspan/base/views.h"

namespace longspan::kernels {

/// Positions of a chunk.
inline constexpr int64_t kDeltaChunk = 16;
/// Chunks between two states that a backward pass starts from.
inline constexpr int64_t kDeltaSegment = 16;
/// Slots and width are at most this.
inline constexpr int64_t kDeltaLargest = 256;

/// What alpha is: 1, one number a token, or one a token and slot.
enum class DeltaDecay { none, scalar, slot };

/// State of a stream, contiguous. A chunk that is under way is carried as the rows that it has so far, position %
/// kDeltaChunk of them; the rows behind these are written as zeros and never read.
template <class T>
struct DeltaState {
  T* memory = nullptr;          ///< [S, H, R, D] at the last chunk border
  T* keys = nullptr;            ///< [S, H, kDeltaChunk, R]
  T* writes = nullptr;          ///< [S, H, kDeltaChunk, D] beta_t e_t
  T* log_alpha = nullptr;       ///< [S, H, kDeltaChunk] or [S, H, kDeltaChunk, R]; null without decay
  int64_t* position = nullptr;  ///< [S] tokens consumed
};
template <class T>
struct ConstDeltaState {
  const T* memory = nullptr;
  const T* keys = nullptr;
  const T* writes = nullptr;
  const T* log_alpha = nullptr;
  const int64_t* position = nullptr;
};

/// Sizes, options and inputs shared by forward and backward. q, k, v, out and their gradients lie in memory as S:
/// float, double or BFloat16; everything else, and every sum, is Computed<S>.
template <class S>
struct DeltaParams {
  using T = Computed<S>;
  int64_t sequences = 0;  ///< S: batch rows, or packed sequences
  int64_t heads = 0;      ///< H
  int64_t slots = 0;      ///< R, width of q and k, 1 to kDeltaLargest
  int64_t width = 0;      ///< D, width of v and out, 1 to kDeltaLargest
  bool delta = true;      ///< false: e_t = v_t
  DeltaDecay decay = DeltaDecay::none;
  Segments rows;
  RowsView<const S> q, k, v;
  RowsView<const T> beta;       ///< [S, H, N], width 1; meant for (0, 2) with keys of norm 1
  RowsView<const T> log_alpha;  ///< width 1 or R; <= 0, -infinity forgets everything; unused without decay
  /// What came before. Memory null: zeros. Position null: 0, and then the rows of a chunk under way are not used, so a
  /// plain initial state is `memory` alone.
  ConstDeltaState<T> state;
};

/// Forward: writes out [S, H, N, D].
template <class S>
struct DeltaForward : DeltaParams<S> {
  using T = Computed<S>;
  RowsView<S> out;
  T* last = nullptr;        ///< [S, H, R, D] the state behind the last row, where wanted
  DeltaState<T> state_out;  ///< the same for a stream that goes on, where wanted; may alias nothing of `state`
  T* segments = nullptr;    ///< [delta_segments(), R, D], where wanted: spares the backward pass a pass over the rows
};

/// Backward: writes the gradients of all inputs. Recomputes the states of kDeltaSegment chunks at a time from the state
/// before them.
template <class S>
struct DeltaBackward : DeltaParams<S> {
  using T = Computed<S>;
  const T* segments = nullptr;  ///< of the forward call; null: recomputed
  RowsView<const S> dout;
  const T* dlast = nullptr;       ///< gradient of `last`; null: none
  ConstDeltaState<T> dstate_out;  ///< gradient of state_out (memory null: none); `position` is not used
  RowsView<S> dq, dk, dv;
  RowsView<T> dbeta, dlog_alpha;  ///< dlog_alpha is 0 where alpha is; not written without decay
  DeltaState<T> dstate;           ///< gradient of `state`, where wanted: of its memory, and of rows where not null
};

/// States that DeltaForward::segments holds: one for each head and kDeltaSegment chunks (or part) of each sequence.
template <class S>
int64_t delta_segments(const DeltaParams<S>& params);

/// Sizes and options that break a rule above: InputError, one line that names it with its value.
void delta_forward(const DeltaForward<float>& params, const Parallel& parallel);
void delta_forward(const DeltaForward<double>& params, const Parallel& parallel);
void delta_forward(const DeltaForward<BFloat16>& params, const Parallel& parallel);
void delta_backward(const DeltaBackward<float>& params, const Parallel& parallel);
void delta_backward(const DeltaBackward<double>& params, const Parallel& parallel);
void delta_backward(const DeltaBackward<BFloat16>& params, const Parallel& parallel);

}  // namespace longspan::kernels
