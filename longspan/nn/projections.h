// The linear maps around an attention, and the split into heads.
#pragma once

#include "longspan/nn/attention.h"

namespace longspan::nn {

/// Linear maps q, k, v and out, registered under these names in their owner (so weights are called `q.weight`, ...).
///
/// Initial values: Xavier-uniform with gain 1 / sqrt(2) for q, k and v, gain 1 for out; biases 0.
class Projections {
 public:
  /// `keys`: false for a method that has no keys; k is then no parameter at all. k and v read a source of width
  /// sizes.source_width in a cross pattern, x otherwise.
  Projections(torch::nn::Module& owner, const AttentionSizes& sizes, Pattern pattern, bool keys = true);

  /// [B, N, E] -> [B, H, N, D], a view of the projected rows.
  at::Tensor queries(const at::Tensor& x);
  at::Tensor keys(const at::Tensor& x);
  at::Tensor values(const at::Tensor& x);
  /// [B, H, N, D] -> [B, N, E] through `out`.
  at::Tensor merge(const at::Tensor& heads);

  /// Options of tensors that belong beside the weights: their dtype and device.
  at::TensorOptions options() const { return q_->weight.options().requires_grad(false); }

 private:
  at::Tensor split(const at::Tensor& rows) const;

  int64_t heads_;
  torch::nn::Linear q_{nullptr}, k_{nullptr}, v_{nullptr}, out_{nullptr};
};

}  // namespace longspan::nn
