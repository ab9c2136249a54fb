// Local attention: softmax over a sliding window of keys, with a table of position scores.
//
//     a_ij  = scale <q_i, k_j> + table[j - i + centre]     for -reach_left <= j - i <= reach_right
//     out_i = sum_j softmax_j(a_ij) v_j,                    lse_i = log sum_j exp(a_ij)
//
// LAVO's local branch (docs/ops/local_attention.md, equations 1 and 2) with reach_left = w - 1 and reach_right = 0
// (causal) or w - 1. Here i and j are positions on the key axis of one sequence: with fewer queries than keys the
// queries are the last ones (query row i stands at key position keys - queries + i), which is how `extend` runs. Groups
// of query heads may share a head of keys and values. Dropout acts on the normalised weights, and not on lse.
//
// Bits: a row's result depends on that row's operands alone; gradients are summed over tiles cut at multiples of 16
// positions. So results do not change with the thread count, batch-mates, packing or total length.
#pragma once

#include <cstdint>

#include "longspan/base/bfloat16.h"
#include "longspan/base/dropout.h"
#include "longspan/base/parallel.h"
#include "longspan/base/views.h"

namespace longspan::kernels {

/// Sizes and options shared by forward and backward. q, k, v and their gradients lie in memory as S: float, double or
/// BFloat16. Everything is computed, and summed, as Computed<S>.
template <class S>
struct LocalParams {
  int64_t sequences = 0;    ///< batch rows, or packed sequences
  int64_t heads = 0;        ///< H, of queries
  int64_t key_heads = 0;    ///< Hk, a divisor of H; 0: H. Query head h reads key head h / (H / Hk)
  int64_t width = 0;        ///< D of q and k, 1 or more
  int64_t value_width = 0;  ///< Dv of v and out, 1 or more
  Segments queries, keys;   ///< rows per sequence; queries.size(s) <= keys.size(s)
  int64_t reach_left = 0;   ///< inclusive, >= 0
  int64_t reach_right = 0;  ///< inclusive, >= 0
  double scale = 1;
  Dropout dropout;
  /// [sequences][2]: the row and the position of the first key that dropout counts each sequence from; nullptr: its
  /// number and 0.
  const int64_t* dropout_origin = nullptr;
  RowsView<const S> q, k, v;
  /// Position scores, element `offset + table_centre` for offset j - i; nullptr for none. Offsets within the reaches
  /// are inside the table.
  const Computed<S>* table = nullptr;
  int64_t table_centre = 0;
  int64_t table_head_stride = 0;  ///< 0 when the heads share one table
};

/// Forward: writes out [sequences, H, N, Dv] as O, and lse [sequences, H, N] (-infinity where a row sees no key, out is
/// 0 there).
template <class S, class O = S>
struct LocalForward : LocalParams<S> {
  RowsView<O> out;
  RowsView<Computed<S>> lse;  ///< row_stride is used, width 1
};

/// Backward: writes dq, dk, dv (every row, also those no query sees) and dtable.
template <class S, class O = S>
struct LocalBackward : LocalParams<S> {
  RowsView<const O> out, dout;
  RowsView<const Computed<S>> lse;
  RowsView<S> dq, dk, dv;
  /// [table_heads, table_size] contiguous, overwritten; entries outside the reaches are exactly 0. nullptr if unwanted.
  Computed<S>* dtable = nullptr;
  int64_t table_heads = 0;  ///< H, or 1 when shared
  int64_t table_size = 0;
};

/// Sizes and options that break a rule above: InputError, one line that names it with its value.
void local_forward(const LocalForward<float>& params, const Parallel& parallel);
void local_forward(const LocalForward<double>& params, const Parallel& parallel);
void local_forward(const LocalForward<BFloat16>& params, const Parallel& parallel);
void local_forward(const LocalForward<BFloat16, float>& params, const Parallel& parallel);
void local_backward(const LocalBackward<float>& params, const Parallel& parallel);
void local_backward(const LocalBackward<double>& params, const Parallel& parallel);
void local_backward(const LocalBackward<BFloat16>& params, const Parallel& parallel);
void local_backward(const LocalBackward<BFloat16, float>& params, const Parallel& parallel);

}  // namespace longspan::kernels
