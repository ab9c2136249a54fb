// LAVO: local attention whose outputs are compressed into orthogonal memory slots (specification part A).
#pragma once

#include "longspan/nn/attention.h"
#include "longspan/nn/position_table.h"
#include "longspan/nn/projections.h"

namespace longspan::nn {

struct LavoOptions {
  enum class Sharing { per_head, shared_heads };
  enum class BasisMode { frozen, qr, free };
  enum class ScoreScale { one, inv_sqrt_d };
  enum class Combine { mean, local, global };
  enum class MemoryInput { aggregated, raw };

  int64_t r = 16;   ///< memory slots per head, at most the head width
  int64_t w = 16;   ///< local window: |i - j| < w
  bool epe = true;  ///< embedded position encoding: a trained score for every offset
  Sharing epe_sharing = Sharing::per_head;
  TableStart epe_init = TableStart::slope;
  BasisMode basis_mode = BasisMode::qr;  ///< qr: trained, made orthogonal again by after_step()
  Sharing basis_sharing = Sharing::per_head;
  double basis_gain = 1.0;                             ///< norm of the basis rows
  ScoreScale score_scale = ScoreScale::one;            ///< factor of the slot scores
  Combine combine = Combine::mean;                     ///< cross patterns: global
  MemoryInput memory_input = MemoryInput::aggregated;  ///< what is compressed: local attention's outputs, or the values
};
const FieldTable<LavoOptions>& lavo_fields();
/// Options that `pattern` has no use for: cross patterns have no local branch (`combine` may be given there as global).
std::vector<std::string> lavo_unused(Pattern pattern);

/// Self patterns: F = (F_local + F_global) / 2 (or one of them), F_local = softmax over the window, F_global = the
/// orthogonal memory of F_local (or of the values), over j <= t when causal. Cross patterns: F_global over the source's
/// values alone; there is no k.
///
/// Parameters beside q, k, v, out: `basis` [H or 1, R, D] (a buffer when frozen) and `position_table` [H or 1, 2w - 1];
/// each only where the options have it. State (causal_self): the ring of window_state.h for the local branch, "closed"
/// and "open" [B, H, R] float64 for the memory, and "count"; its size is constant. Cross: "features" [B, H, R] float64,
/// the mean of the projected source.
class LavoAttention final : public Attention {
 public:
  /// Throws InputError for r > D. In a cross pattern `combine` must be mean (unset) or global.
  LavoAttention(Pattern pattern, AttentionSizes sizes, LavoOptions options);

  AttentionProperties properties() const override;
  AttentionCost cost(int64_t queries, int64_t keys) const override;
  FieldValues options() const override;
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;
  /// Retraction of a qr basis.
  void after_step() override;

  /// Memory: zero (F_global = 0), mean (every slot read with weight 1 / R), swap (each batch row reads the memory of
  /// the row before it, the first that of the last; a dense batch of at least 2), none (as trained). The state follows
  /// the ablation.
  std::vector<std::string> ablations() const override;
  void ablate(const std::string& part, const std::string& way) override;

 protected:
  at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) override;
  StateLayout state_layout() const override;
  State begin_self(int64_t batch) override;
  State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) override;
  at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override;

 private:
  enum class Ablation { none, zero, mean, swap };

  bool causal() const { return pattern() == Pattern::causal_self; }
  bool has_local() const;
  bool has_memory() const;
  double scale() const;
  std::optional<at::Tensor> table() const;
  /// q, k, v -> F; k undefined where there is no local branch.
  at::Tensor attend_packed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Packed& packed);
  at::Tensor combine(const at::Tensor& local, const at::Tensor& global) const;
  at::Tensor memory_features(const at::Tensor& local, const at::Tensor& v, bool packed) const;
  at::Tensor ablated(const at::Tensor& global) const;
  at::Tensor read_features(const State& state, const at::Tensor& q, const std::optional<at::Tensor>& cu) const;

  LavoOptions options_;
  Projections project_;
  at::Tensor basis_, position_table_;
  Ablation ablation_ = Ablation::none;
};

}  // namespace longspan::nn
