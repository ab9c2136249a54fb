// Orthogonal memory (CODE of LAVO): the running mean of the projected past, read by a softmax over slots.
//
//     z_j = B m_j;   H_t = mean of z_j over the visible j;   s_t = scale H_t o (B q_t);   p_t = softmax(s_t)
//     out_t = B^T (p_t o H_t)
//
// (docs/ops/orthogonal_memory.md). `causal`: j <= t. `full`: every source position, for the noncausal and cross forms.
//
// With a window w > 0 position t sees the complete windows before its own instead, j < floor(t / w) w, and H is 0 in
// the first window. Groups of query heads may share a head of m. Dropout acts on p.
//
// Running sums: H_t = (closed + open) / count, where `closed` is the sum over complete chunks of kMemoryChunk
// positions, `open` the sum of the chunk under way, added position by position. Chunks are cut at multiples of
// kMemoryChunk of the absolute position (count), so a stream cut anywhere gives the same bits.
#pragma once

#include <cstdint>

#include "longspan/base/bfloat16.h"
#include "longspan/base/dropout.h"
#include "longspan/base/parallel.h"
#include "longspan/base/views.h"

namespace longspan::kernels {

inline constexpr int64_t kMemoryChunk = 256;

/// How running sums are kept: in a type, or as a float32 sum and the float32 sum of its rounding errors.
enum class Accumulator { float64, float32_compensated, float32 };

/// Numbers of a sum: [r] sums, or [2 r] with the corrections behind the sums.
inline int64_t words(Accumulator accumulator) { return accumulator == Accumulator::float32_compensated ? 2 : 1; }

/// State of the causal form, contiguous: sums [S, H, words r] (those of a float32 accumulator are float32 numbers,
/// too), counts [S] and, with a window, the H that the window under way reads, [S, H, r].
struct MemoryState {
  double* closed = nullptr;
  double* open = nullptr;
  int64_t* count = nullptr;
  double* visible = nullptr;
};
struct ConstMemoryState {
  const double* closed = nullptr;
  const double* open = nullptr;
  const int64_t* count = nullptr;
  const double* visible = nullptr;
};

/// Sizes and options shared by forward and backward. q, out and their gradients lie in memory as S, m and its gradient
/// as M: float, double or BFloat16. Everything is computed as Computed<S>.
template <class S, class M = S>
struct MemoryParams {
  int64_t sequences = 0;      ///< S: batch rows, or packed sequences; dropout counts rows so
  int64_t heads = 0;          ///< H, of queries
  int64_t feature_heads = 0;  ///< Hm, a divisor of H; 0: H. Query head h reads the features of head h / (H / Hm)
  int64_t slots = 0;          ///< r, 1 <= r
  int64_t width = 0;          ///< d
  bool causal = true;         ///< false: one H over all sources of the sequence
  int64_t window = 0;         ///< causal: w, or 0 for the mean over j <= t
  Segments queries;           ///< rows of q and out
  Segments sources;           ///< rows of m; the same as queries when causal
  double scale = 1;
  Dropout dropout;
  RowsView<const S> q;
  RowsView<const M> m;
  const Computed<S>* basis = nullptr;  ///< [heads or 1][r][d], rows contiguous
  int64_t basis_head_stride = 0;       ///< r d, or 0 when the heads share one basis
  ConstMemoryState state;              ///< causal: what came before; null pointers for a fresh start

  /// Hm, query heads of each head of features (1 or more), and the head of features that a query head reads.
  int64_t features() const { return feature_heads == 0 ? heads : feature_heads; }
  int64_t group() const { return features() == 0 ? 1 : heads / features(); }
  int64_t features_of(int64_t head) const { return head / group(); }
};

/// Forward: writes out [S, H, N, d]; a sequence without sources gives zeros.
template <class S, class M = S>
struct MemoryForward : MemoryParams<S, M> {
  Accumulator accumulator = Accumulator::float64;
  RowsView<S> out;
  MemoryState state_out;  ///< causal: the state after the last row, where wanted; may alias nothing of `state`
};

/// Backward: writes dq, dm, dbasis and, where wanted, the gradient of the incoming state. The gradient is that of exact
/// sums: `state` and its gradients hold one float64 number for each slot, whatever the accumulator of the forward.
template <class S, class M = S>
struct MemoryBackward : MemoryParams<S, M> {
  RowsView<const S> dout;
  RowsView<S> dq;
  RowsView<M> dm;
  Computed<S>* dbasis = nullptr;  ///< [heads or 1][r][d], overwritten
  /// Gradient of state_out (null: none) and of `state` (null: unwanted), [S, H, r] each; `count` is not used.
  ConstMemoryState dstate_out;
  MemoryState dstate;
};

/// Sizes and options that break a rule above: InputError, one line that names it with its value.
void memory_forward(const MemoryForward<float>& params, const Parallel& parallel);
void memory_forward(const MemoryForward<double>& params, const Parallel& parallel);
void memory_forward(const MemoryForward<BFloat16>& params, const Parallel& parallel);
void memory_forward(const MemoryForward<BFloat16, float>& params, const Parallel& parallel);
void memory_backward(const MemoryBackward<float>& params, const Parallel& parallel);
void memory_backward(const MemoryBackward<double>& params, const Parallel& parallel);
void memory_backward(const MemoryBackward<BFloat16>& params, const Parallel& parallel);
void memory_backward(const MemoryBackward<BFloat16, float>& params, const Parallel& parallel);

}  // namespace longspan::kernels
