// Orthogonal memory (CODE of LAVO): the running mean of the projected past, read by a softmax over slots.
//
//     z_j = B m_j;   H_t = mean of z_j over the visible j;   s_t = scale H_t o (B q_t);   p_t = softmax(s_t)
//     out_t = B^T (p_t o H_t)
//
// (docs/ops/orthogonal_memory.md). `causal`: j <= t. `full`: every source position, for the noncausal and cross forms.
//
// Running sums are float64: H_t = (closed + open) / count, where `closed` is the sum over complete chunks of
// kMemoryChunk positions, `open` the sum of the chunk under way, added position by position. Chunks are cut at
// multiples of kMemoryChunk of the absolute position (count), so a stream cut anywhere gives the same bits.
#pragma once

#include <cstdint>

#include "longspan/base/parallel.h"
#include "longspan/base/views.h"

namespace longspan::kernels {

inline constexpr int64_t kMemoryChunk = 256;

/// How running sums are kept: in a type, or as a float32 sum and the float32 sum of its rounding errors.
enum class Accumulator { float64, float32_compensated, float32 };

/// Numbers of a sum: [r] sums, or [2 r] with the corrections behind the sums.
inline int64_t words(Accumulator accumulator) { return accumulator == Accumulator::float32_compensated ? 2 : 1; }

/// State of the causal form: [S, H, r] sums, contiguous, and [S] counts.
struct MemoryState {
  double* closed = nullptr;
  double* open = nullptr;
  int64_t* count = nullptr;
};
struct ConstMemoryState {
  const double* closed = nullptr;
  const double* open = nullptr;
  const int64_t* count = nullptr;
};

/// Sizes and options shared by forward and backward. T is float or double.
template <class T>
struct MemoryParams {
  int64_t sequences = 0;  ///< S
  int64_t heads = 0;      ///< H
  int64_t slots = 0;      ///< r, 1 <= r
  int64_t width = 0;      ///< d
  bool causal = true;     ///< false: one H over all sources of the sequence
  Segments queries;       ///< rows of q and out
  Segments sources;       ///< rows of m; the same as queries when causal
  double scale = 1;
  RowsView<const T> q, m;
  const T* basis = nullptr;       ///< [heads or 1][r][d], rows contiguous
  int64_t basis_head_stride = 0;  ///< r d, or 0 when the heads share one basis
  ConstMemoryState state;         ///< causal: what came before; null pointers for a fresh start
};

/// Forward: writes out [S, H, N, d]; a sequence without sources gives zeros.
template <class T>
struct MemoryForward : MemoryParams<T> {
  RowsView<T> out;
  MemoryState state_out;  ///< causal: the state after the last row, where wanted; may alias nothing of `state`
};

/// Backward: writes dq, dm, dbasis and, where wanted, the gradient of the incoming state.
template <class T>
struct MemoryBackward : MemoryParams<T> {
  RowsView<const T> dout;
  RowsView<T> dq, dm;
  T* dbasis = nullptr;  ///< [heads or 1][r][d], overwritten
  /// Gradient of state_out (null: none) and of `state` (null: unwanted), [S, H, r] each.
  const double* dclosed_out = nullptr;
  const double* dopen_out = nullptr;
  double* dclosed = nullptr;
  double* dopen = nullptr;
};

void memory_forward(const MemoryForward<float>& params, const Parallel& parallel);
void memory_forward(const MemoryForward<double>& params, const Parallel& parallel);
void memory_backward(const MemoryBackward<float>& params, const Parallel& parallel);
void memory_backward(const MemoryBackward<double>& params, const Parallel& parallel);

}  // namespace longspan::kernels
