// Full softmax attention, by the library's scaled_dot_product_attention.
#pragma once

#include "longspan/nn/attention.h"
#include "longspan/nn/projections.h"

namespace longspan::nn {

struct SoftmaxOptions {
  bool rope = false;  ///< rotary position encoding of q and k (self patterns), half-split pairs over the whole head
  double rope_base = 10000.0;  ///< pair i of D / 2 turns by base^(-2i / D) a position
};
const FieldTable<SoftmaxOptions>& softmax_fields();
/// Options that `pattern` has no use for.
std::vector<std::string> softmax_unused(Pattern pattern);

/// State (causal_self): "keys" and "values" [B, Hk, L, D], stream b at rows [0, count[b]), and "count" [B] int64; keys
/// are kept after rotation. Cross: the same tensors, of the source. It grows: a step copies the cache once.
class SoftmaxAttention final : public Attention {
 public:
  SoftmaxAttention(Pattern pattern, AttentionSizes sizes, SoftmaxOptions options);

  AttentionProperties properties() const override { return {}; }
  AttentionCost cost(int64_t queries, int64_t keys) const override;
  FieldValues options() const override;
  /// Without rotation.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;

 protected:
  at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) override;
  StateLayout state_layout() const override;
  State begin_self(int64_t batch) override;
  State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) override;
  at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override;
  /// "weights" [B, H, N, M] and "values" [B, H, M, D].
  std::map<std::string, at::Tensor> inspect_dense(const at::Tensor& x,
                                                  const std::optional<at::Tensor>& source) override;

 private:
  at::Tensor read_source(const State& state, const at::Tensor& q, const std::optional<at::Tensor>& cu) const;
  at::Tensor extend_self(State& state, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::optional<at::Tensor>& cu) const;

  SoftmaxOptions options_;
  Projections project_;
};

}  // namespace longspan::nn
