// lavo_selective: local attention beside a memory whose writes are chosen (docs/selective.md).
#pragma once

#include <optional>

#include "longspan/nn/ablation.h"
#include "longspan/nn/attention.h"
#include "longspan/nn/lavo_basis.h"
#include "longspan/nn/lavo_selective_options.h"
#include "longspan/nn/memory_rows.h"
#include "longspan/nn/projections.h"
#include "longspan/nn/rotary.h"
#include "longspan/nn/short_convolution.h"

namespace longspan::nn {

/// causal_self, with B [R, D] of Basis, x the layer's input, k', q' the memory's own keys and queries (`memory_k`,
/// `memory_q`; with share_qk those of the local branch) and v the values of both branches:
///
///   kappa_t = u(B conv(k'_t))   rho_t = u(B q'_t)        u(z) = z / |z|, or softmax(z)
///   beta_t = sigmoid(w_b x_t)   alpha_t = 1 - sigmoid(w_f x_t)
///   o_t = ops::delta_memory(rho, kappa, v, beta, log alpha)
///   y_t = local_t + g o_t / rms(o_t)                     g: `gain`, one number a channel
///
/// Cross patterns write the source once, in its order, and have no local branch: y_t = g o_t / rms(o_t), o_t = S^T
/// rho_t with S the memory behind the last row of the source; k' and q' are `k` and `q`. There is no noncausal_self:
/// what a memory holds depends on the order of its writes, so a token would have to read either a part or a memory that
/// its own place does not enter.
///
/// Parameters beside q, k, v, out: `memory_q`, `memory_k`; those of Basis; `conv` [Hk D, 1, taps], the newest tap last,
/// .5 for the two newest and 0 at the start; `beta` (weight [H, E], with sizes.bias a bias, 0 at the start); `forget`
/// (weight [H, E] or [H R, E] at a tenth of the usual scale, and always a bias, such that at x = 0 memories last for
/// 1 / (1 - alpha) = 64 ... 4,096 tokens, in equal ratios from head to head); `gain` [E], gain_init at the start (cross
/// patterns: 1); `position_table` [H or 1, 2w - 1].
///
/// Rotary positions turn q and k of the local branch only: an address is found at any distance. With grouped heads k',
/// v and the convolution exist per key head, everything else per query head.
///
/// State (causal_self), of constant size: the ring of window_state.h, "conv" [B, taps - 1, Hk D], the memory of
/// delta_state.h and "count". Cross: "memory" [B, H, R, D] and "count", the rows that have read it.
class LavoSelectiveAttention final : public Attention {
 public:
  /// Throws InputError for more orthonormal addresses than the head is wide and for options without a use.
  LavoSelectiveAttention(Pattern pattern, AttentionSizes sizes, LavoSelectiveOptions options);

  AttentionProperties properties() const override;
  AttentionCost cost(int64_t queries, int64_t keys) const override;
  FieldValues options() const override;
  /// q and k are those of both branches; gates are those of an input of zeros; no rotation.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;
  /// Retraction of a qr basis.
  void after_step() override;
  /// The penalty of a soft basis.
  at::Tensor auxiliary_loss() const override { return basis_.penalty(); }

  /// memory: zero (it adds nothing), swap (each stream reads the memory of the one before it, the first that of the
  /// last; at least 2 streams of one length). local: zero (the local branch adds nothing). head: the number of one head
  /// whose output is 0. none: as trained.
  std::vector<std::string> ablations() const override;

 protected:
  void set_ablation(const std::string& part, const std::string& way) override;
  at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) override;
  StateLayout state_layout() const override;
  State begin_self(int64_t batch) override;
  State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) override;
  at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override;
  /// Of every token and head, [B, H, N, ...]: "beta" and, with decay, "alpha" [B, H, N] or [B, H, N, R]; "writing"
  /// kappa and "reading" rho [B, H, N, R]; "occupancy" [B, H, N, R], the norms of the slots' vectors behind the token;
  /// "novelty" [B, H, N], |e_t| / |v_t|, how much of a value the memory did not foretell (1 without delta);
  /// "local_weights" [B, H, N, N]. "basis" [H, R, D]. Cross: writes have the rows of the source, "reading" those of x.
  std::map<std::string, at::Tensor> inspect_dense(const at::Tensor& x,
                                                  const std::optional<at::Tensor>& source) override;

 private:
  enum class Ablation { none, zero, swap };

  /// What the local branch reads, [B, H or Hk, N, D].
  struct LocalRows {
    at::Tensor q, k, v;
  };

  bool causal() const { return pattern() == Pattern::causal_self; }
  bool own_addresses() const { return causal() && !options_.share_qk; }
  bool drops_local() const { return is_training() && options_.dropout > 0; }
  DeltaShape shape() const { return {sizes().heads, options_.r, sizes().head_width(), options_.decay}; }

  at::Tensor address(const at::Tensor& rows) const;
  /// Rows k' [B, Hk, N, D] as their tokens' rows, convolved (in a stream with `next` given), and as heads again.
  at::Tensor convolved(const at::Tensor& k, const std::optional<at::Tensor>& cu, State* next) const;
  MemoryWrites writes(const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta_logits,
                      const at::Tensor& forget_logits, const std::optional<at::Tensor>& cu, State* next) const;
  MemoryWrites project_writes(const at::Tensor& x, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& cu, State* next);

  ops::DeltaMemoryOptions memory_options(const std::optional<at::Tensor>& cu) const;
  at::Tensor remembered(const at::Tensor& rho, const MemoryWrites& writes, const std::optional<at::Tensor>& cu) const;
  at::Tensor written(const MemoryWrites& writes, const std::optional<at::Tensor>& cu) const;
  at::Tensor read(const at::Tensor& memory, const at::Tensor& rho, const std::optional<at::Tensor>& cu) const;
  at::Tensor local(const LocalRows& rows, const std::optional<at::Tensor>& cu, const std::optional<at::Tensor>& cu_k,
                   const std::optional<at::Tensor>& dropout_origin) const;
  at::Tensor combine(const at::Tensor& local, const at::Tensor& memory, at::ScalarType dtype) const;

  LavoSelectiveOptions options_;
  Projections project_;
  Basis basis_;
  ShortConvolution conv_;
  GateLogits beta_, forget_;
  at::Tensor gain_, position_table_;
  Ablation memory_ablation_ = Ablation::none;
  bool local_off_ = false;
  HeadAblation head_ablation_;
};

}  // namespace longspan::nn
