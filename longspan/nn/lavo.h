// LAVO: local attention whose outputs are compressed into orthogonal memory slots (specification part A).
#pragma once

#include <functional>

#include "longspan/nn/ablation.h"
#include "longspan/nn/attention.h"
#include "longspan/nn/lavo_basis.h"
#include "longspan/nn/lavo_options.h"
#include "longspan/nn/projections.h"
#include "longspan/nn/rotary.h"
#include "longspan/nn/window_state.h"
#include "longspan/ops/local_attention/local_attention.h"
#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"

namespace longspan::nn {

/// Self patterns: F = (F_local + F_global) / 2 (or one of them), F_local = softmax over the window, F_global = the
/// orthogonal memory of features m: of what local attention makes of them, or of the projections themselves; over
/// j <= t, or over the complete windows before t's own, when causal. Cross patterns: F_global over the source alone.
///
/// Parameters beside q, k, v, out (k and v where something reads them): `memory` (memory_proj own), those of Basis,
/// `position_table` [H or 1, 2w - 1], `log_scale` [H] (score_scale learned). Rotary positions turn q and k of the local
/// attention only: q meets the slots as it is, so that reading knows no absolute position.
///
/// With grouped heads basis, memory and table exist per query head, and features like k and v per key head. The slices
/// of the layer's input exist per query head: aggregating them copies k and v for each.
///
/// In training mode dropout draws one seed a use from torch's generator in every call, in one order. Masks depend on
/// the seed, the stream's number in the batch and positions in the stream alone: calls that find torch's generator in
/// one state drop the same, whether a stream comes whole or in parts.
///
/// State (causal_self), of constant size: the ring of window_state.h where there is local attention ("values" holds v
/// and, where aggregated features are not values, those behind it), "count"; "closed" and "open" as
/// ops::OrthogonalMemoryState has them, with memory_update window "visible"; with history_attention block_bidirectional
/// "queries" [B, H, w - 1, D], a ring too, for features are known only once their window is complete (the sums then are
/// those of complete windows). Cross: "features" [B, H, R] float64, the mean of the projected source, and "count", the
/// rows that have read it.
class LavoAttention final : public Attention {
 public:
  /// Throws InputError for r > D and for combinations that the specification excludes.
  LavoAttention(Pattern pattern, AttentionSizes sizes, LavoOptions options);

  AttentionProperties properties() const override;
  AttentionCost cost(int64_t queries, int64_t keys) const override;
  FieldValues options() const override;
  /// v (or k, with memory_proj key) stands in for features that the layer would project from its input; no rotation.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;
  /// Retraction of a qr basis.
  void after_step() override { basis_.after_step(); }
  /// The penalty of a soft basis.
  at::Tensor auxiliary_loss() const override { return basis_.penalty(); }

  /// memory: zero (F_global = 0), mean (every slot read with weight 1 / R), swap (each stream reads the memory of
  /// the one before it, the first that of the last; at least 2 streams of one length). local: zero (F_local = 0; the
  /// memory still reads what local attention aggregates). head: the number of one head whose output is 0. none: as
  /// trained. The state follows the ablation.
  std::vector<std::string> ablations() const override;
  std::unique_ptr<Inspection> begin_inspection() override;

 protected:
  void set_ablation(const std::string& part, const std::string& way) override;
  at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) override;
  StateLayout state_layout() const override;
  State begin_self(int64_t batch) override;
  State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) override;
  at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override;
  /// "basis" [H, R, D]; with local attention "local_weights" [B, H, N, w], the last the query's own (noncausal: 2w - 1,
  /// the middle one); with blocks "history_weights" [B, H, N, 2w - 1], those that aggregate; with a memory "slots", H_t
  /// [B, H, N, R] ([B, H, 1, R] where all queries read the same), and "reading", p_t [B, H, N, R].
  std::map<std::string, at::Tensor> inspect_dense(const at::Tensor& x,
                                                  const std::optional<at::Tensor>& source) override;

 private:
  class Look;  ///< lavo_inspect.cc
  enum class Ablation { none, zero, mean, swap };

  /// What the operators read, [B, H, N, D] or with Hk heads.
  struct Operands {
    at::Tensor q;                      ///< the memory's queries
    at::Tensor local_q, keys, values;  ///< of the local attention; values: v, the features to aggregate, or both
    at::Tensor features;               ///< the memory's before aggregation
  };
  /// What local attention gives, [B, H, N, D].
  struct Mixed {
    at::Tensor output;    ///< F_local
    at::Tensor features;  ///< the memory's
  };
  /// Where the rows stand: a dense batch of `length` or a pack, from `start` [B] on.
  struct Place {
    int64_t length;
    std::optional<at::Tensor> cu;
    at::Tensor start = {};
  };

  bool causal() const { return pattern() == Pattern::causal_self; }
  bool by_window() const { return causal() && options_.memory_update == LavoOptions::MemoryUpdate::window; }
  /// Features are aggregated inside windows, apart from the local branch.
  bool blockwise() const { return parts_.aggregated && options_.history_attention != LavoOptions::History::shared; }
  bool bidirectional() const {
    return blockwise() && options_.history_attention == LavoOptions::History::block_bidirectional;
  }
  std::optional<at::Tensor> table() const;
  /// Of the slot scores, learned factors apart; 0 under the ablation mean: every slot has weight 1 / R.
  double fixed_scale() const;
  double scale() const { return memory_ablation_ == Ablation::mean ? 0 : fixed_scale(); }
  int64_t ring_heads() const;
  int64_t ring_columns() const;

  Operands project(const at::Tensor& x, const at::Tensor& source, const RotaryPositions& rotary);
  at::Tensor project_features(const at::Tensor& source, const at::Tensor& k, const at::Tensor& v);
  Operands arrange(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& features,
                   const RotaryPositions* rotary) const;
  at::Tensor attend_packed(const Operands& in, const Packed& packed);

  /// The sequences of a local attention, as the operator's options say it.
  struct Sequences {
    std::optional<at::Tensor> cu, cu_k, dropout_origin;
  };
  /// Whether weights of the local attention are dropped now.
  bool drops_local() const;
  at::Tensor local(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Sequences& sequences,
                   bool in_windows) const;
  at::Tensor local_in_windows(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& cu) const;
  /// Over `keys` and `values`, with borders where they need any; `in_windows` aggregates features apart from the
  /// local branch where blockwise().
  Mixed mix_rows(const Operands& in, const at::Tensor& keys, const at::Tensor& values, const Sequences& sequences,
                 const std::function<at::Tensor(const at::Tensor&)>& in_windows) const;
  Mixed mix(const Operands& in, const std::optional<at::Tensor>& cu) const;
  Mixed mix_stream(State& next, const Operands& in, const State& state, const std::optional<at::Tensor>& cu) const;

  at::Tensor memory_queries(const at::Tensor& q) const;
  /// As the memory takes them: of the streams themselves, or under the ablation swap of the stream before each.
  at::Tensor memory_features(const at::Tensor& features, const std::optional<at::Tensor>& cu) const;
  ops::OrthogonalMemoryOptions memory_options(const std::optional<at::Tensor>& cu) const;
  at::Tensor read_stream(State& next, const Operands& in, const Mixed& mixed, const State& state,
                         const std::optional<at::Tensor>& cu) const;
  at::Tensor read_late(State& next, const Operands& in, const at::Tensor& features, const State& state,
                       const at::Tensor& cu) const;
  at::Tensor read_source(const State& state, const at::Tensor& q, const std::optional<at::Tensor>& cu) const;

  at::Tensor combine(const at::Tensor& local, const at::Tensor& global, const Place& place, at::ScalarType dtype) const;

  LavoOptions options_;
  LavoParts parts_;
  Projections project_;
  Basis basis_;
  at::Tensor position_table_, log_scale_;
  Ablation memory_ablation_ = Ablation::none;
  bool local_off_ = false;
  HeadAblation head_ablation_;
};

}  // namespace longspan::nn
