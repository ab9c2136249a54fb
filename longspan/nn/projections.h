// The linear maps around an attention, and the split into heads.
#pragma once

#include "longspan/nn/attention.h"

namespace longspan::nn {

/// Which maps there are beside q and out; the others are no parameters at all.
struct SourceMaps {
  bool keys = true, values = true;
  bool memory = false;  ///< a third one of the source, `memory`
};

/// Linear maps q, k, v and out, registered under these names in their owner (so weights are called `q.weight`, ...).
///
/// Initial values: Xavier-uniform with gain 1 / sqrt(2) for all but out, gain 1 for out; biases 0.
class Projections {
 public:
  /// k, v and memory have sizes.key_heads() heads and read a source of width sizes.source_width in a cross pattern, x
  /// otherwise.
  Projections(torch::nn::Module& owner, const AttentionSizes& sizes, Pattern pattern, SourceMaps maps = {});

  /// [B, N, E] -> [B, H, N, D], a view of the projected rows.
  at::Tensor queries(const at::Tensor& x);
  /// [B, N, E] -> [B, Hk, N, D].
  at::Tensor keys(const at::Tensor& x);
  at::Tensor values(const at::Tensor& x);
  at::Tensor memory(const at::Tensor& x);
  /// [B, N, E] -> [B, H, N, D], every head's slice of the rows themselves.
  at::Tensor slices(const at::Tensor& x) const { return split(x); }
  /// [B, H, N, D] -> [B, N, E] through `out`.
  at::Tensor merge(const at::Tensor& heads);

  /// Options of tensors that belong beside the weights: their dtype and device.
  at::TensorOptions options() const { return q_->weight.options().requires_grad(false); }

 private:
  at::Tensor split(const at::Tensor& rows) const;

  int64_t head_width_;
  torch::nn::Linear q_{nullptr}, k_{nullptr}, v_{nullptr}, memory_{nullptr}, out_{nullptr};
};

}  // namespace longspan::nn
