// Multi-hop diffusion of sparse attention (Diffuser): softmax over the pairs of a pattern, then several products.
//
//     a_ij = scale <q_i, k_j>;   A_ij = softmax of a_ij over the keys j of row i;   lse_i = log sum_j exp(a_ij)
//     Z_0 = start V;   Z_{k+1} = hop_drop_{k+1}(carry_k drop_k(A) Z_k + source_k V), 0 <= k < hops;   out = Z_hops
//
// (docs/ops/diffusion.md). Every diffusion kind is a choice of start, carry and source. A row without keys has A = 0.
//
// The pattern is worked in the pieces of PatternView. Band, dense strips and blocks are blocks of 16 keys by 16 queries
// (layout.h): a tile of 16 queries is multiplied with the rows that it sees in registers, and the transpose runs over
// the same blocks from the side of the keys. The rest gathers row by row, its weights for the transpose in the order in
// which that reads them. A head is one task where there are enough of them, else its tiles are shared out; nothing of
// [pairs, width] is formed.
//
// Streams: with first_row > 0 the tokens before it are past. They have keys and states, and no queries; the pattern is
// that of all tokens, and its rows of the past are not looked at.
//
// Bits: a row's result depends on the row, its keys and the pattern alone; gradients are summed in an order that the
// pattern fixes. So results do not change with the thread count, batch-mates or packing.
#pragma once

#include <cstdint>
#include <memory>

#include "longspan/base/bfloat16.h"
#include "longspan/base/diffusion_seeds.h"
#include "longspan/base/dropout.h"
#include "longspan/base/parallel.h"
#include "longspan/base/pattern_view.h"
#include "longspan/base/views.h"

namespace longspan::kernels {

/// What stands of the attention weights while the hops go on.
enum class EdgeWeights {
  stored,     ///< those of a head
  recomputed  ///< those of a strip of some 2^18: scores are formed again in every hop
};

/// Where the backward pass has the states Z_0 .. Z_{hops-1} from. With recomputed weights those of all hops, and as
/// many gradients of them, stand in any case: 2 hops N Dv numbers a worker.
enum class DiffusionBackwardStates {
  recompute_slices,    ///< formed again for one head at a time: hops - 1 products more, hops N Dv numbers a worker
  store_all,           ///< `states` of the forward
  recompute_quadratic  ///< formed again for each hop: hops (hops - 1) / 2 products more, 2 N Dv numbers a worker
};

namespace diffusion {
class TileLayout;
}

/// What calls without a past need of a pattern besides its arrays: made once, it saves each of them the walk through
/// the pattern.
class DiffusionLayout {
 public:
  /// The arrays outlive it.
  DiffusionLayout(const PatternView& pattern, const TransposedPatternView& transposed);

  /// diffusion_weight_count() of the pattern.
  int64_t weights() const;
  int64_t bytes() const;
  const std::shared_ptr<const diffusion::TileLayout>& tiles() const { return tiles_; }

 private:
  std::shared_ptr<const diffusion::TileLayout> tiles_;
};

/// One pattern of a call, for as many rows as the sequences that use it have.
struct DiffusionPattern {
  PatternView pattern;
  TransposedPatternView transposed;         ///< the backward pass alone reads it
  const DiffusionLayout* layout = nullptr;  ///< of these; nullptr: made in the call, as it is where there is a past
};

/// Numbers of the stored weights of one head: the pairs, with the pieces rounded up to whole tiles.
int64_t diffusion_weight_count(const PatternView& pattern, int64_t first_row = 0);

/// Sizes and options shared by forward and backward. q, k, v, out and their gradients lie in memory as S: float, double
/// or BFloat16. Everything else is T = Computed<S>, and everything is computed as T.
template <class S>
struct DiffusionParams {
  using T = Computed<S>;

  int64_t sequences = 0;    ///< batch rows, or packed sequences
  int64_t heads = 0;        ///< H, of queries
  int64_t key_heads = 0;    ///< Hk, a divisor of H; 0: H. Query head h reads key head h / (H / Hk)
  int64_t width = 0;        ///< D of q and k, 1 or more
  int64_t value_width = 0;  ///< Dv of v and out, 1 or more
  int64_t hops = 0;         ///< K, 0 or more
  Segments rows;            ///< tokens of each sequence: rows of k
  int64_t first_row = 0;    ///< without packing: queries, values and results are those of the tokens from here on
  const DiffusionPattern* patterns = nullptr;
  const int64_t* pattern_of = nullptr;  ///< [sequences]: number of its pattern; nullptr: 0
  double scale = 1;
  /// [heads or 1][2 hops + 1]: start, carry_0, source_0, carry_1, source_1, ...
  const T* coefficients = nullptr;
  int64_t coefficient_head_stride = 0;  ///< 0 when the heads share them
  /// Tokens that are there: [sequences][rows], or [rows of the pack]; nullptr: all. A pair with another end has the
  /// score invalid_score instead of its own. -infinity takes it out of the pattern; then what stands in the rows of
  /// tokens that are not there is not looked at, their values count as zero, and so do their gradients.
  const bool* valid = nullptr;
  double invalid_score = 0;
  /// Of A, by query and key; of the state after hop k, by query and feature. Seeds: base/diffusion_seeds.h.
  Dropout attention_dropout, hop_dropout;
  bool dropout_per_hop = false;  ///< of A: a mask for each hop instead of one for all
  /// [sequences][2]: the row and the position of the first token that dropout counts each sequence from; nullptr: its
  /// number and 0.
  const int64_t* dropout_origin = nullptr;
  /// [rows] positions that dropout counts tokens by, where a stream keeps a part of them; nullptr: 0, 1, ...
  const int64_t* positions = nullptr;
  EdgeWeights edge_weights = EdgeWeights::stored;
  RowsView<const S> q, k, v;
};

/// Forward: writes out and lse [sequences, H, rows - first_row] (-infinity for a row without a finite score).
template <class S>
struct DiffusionForward : DiffusionParams<S> {
  using T = Computed<S>;
  RowsView<S> out;
  RowsView<T> lse;  ///< row_stride is used, width 1
  /// For a backward pass that does not form them again: [head][diffusion_weight_count] of the first sequence, of the
  /// second, ... ; nullptr: unwanted. Aligned to kAlignment.
  T* weights = nullptr;
  /// [sequences][H][hops][rows][Dv] (packed: [H][hops][rows of the pack][Dv]): Z_0 .. Z_{hops-1}. Those of the past are
  /// read, the others written; nullptr without a past where unwanted.
  T* states = nullptr;
};

/// Backward: writes dq, dk, dv (every row, also those no query sees) and dcoefficients.
template <class S>
struct DiffusionBackward : DiffusionParams<S> {
  using T = Computed<S>;
  DiffusionBackwardStates backward = DiffusionBackwardStates::recompute_slices;
  RowsView<const S> dout;
  const T* weights = nullptr;  ///< of the forward; nullptr: formed again
  const T* states = nullptr;   ///< of the forward: for store_all, and with a past
  RowsView<S> dq, dk, dv;
  T* dcoefficients = nullptr;  ///< [heads or 1][2 hops + 1], overwritten; nullptr: unwanted
  /// With a past, in the layout of `states`. dstates_out: gradient of the new tokens' states, nullptr: none. dstates:
  /// that of the past ones', overwritten; its other rows are not touched.
  const T* dstates_out = nullptr;
  T* dstates = nullptr;
};

/// Sizes and options that break a rule above: InputError, one line that names it with its value.
void diffusion_forward(const DiffusionForward<float>& params, const Parallel& parallel);
void diffusion_forward(const DiffusionForward<double>& params, const Parallel& parallel);
void diffusion_forward(const DiffusionForward<BFloat16>& params, const Parallel& parallel);
void diffusion_backward(const DiffusionBackward<float>& params, const Parallel& parallel);
void diffusion_backward(const DiffusionBackward<double>& params, const Parallel& parallel);
void diffusion_backward(const DiffusionBackward<BFloat16>& params, const Parallel& parallel);

}  // namespace longspan::kernels
