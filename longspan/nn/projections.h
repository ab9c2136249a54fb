// The linear maps around an attention, and the split into heads.
#pragma once

#include <string>

#include "longspan/nn/attention.h"

namespace longspan::nn {

/// Which maps there are beside q and out; the others are no parameters at all.
struct SourceMaps {
  bool keys = true, values = true;
  bool memory = false;     ///< a third one of the source, `memory`
  bool addresses = false;  ///< queries and keys of a memory of its own, `memory_q` and `memory_k`
};

/// Registers a linear map `name`: weight Xavier-uniform with this gain, bias 0.
torch::nn::Linear make_linear(torch::nn::Module& owner, const std::string& name, int64_t from, int64_t to, bool bias,
                              double gain);
/// Gain of the maps of an attention's input.
inline constexpr double kInputGain = 0.70710678118654752;

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
  at::Tensor memory_queries(const at::Tensor& x);  ///< [B, H, N, D]
  at::Tensor memory_keys(const at::Tensor& x);     ///< [B, Hk, N, D]
  /// Starts the memory's queries as its keys: every query head as the key head that it reads.
  void tie_addresses();
  /// [B, N, E] -> [B, H, N, D], every head's slice of the rows themselves.
  at::Tensor slices(const at::Tensor& x) const { return split(x); }
  /// [B, H, N, D] -> [B, N, E] through `out`.
  at::Tensor merge(const at::Tensor& heads);

  /// Options of tensors that belong beside the weights: their dtype and device.
  at::TensorOptions options() const { return q_->weight.options().requires_grad(false); }

 private:
  at::Tensor split(const at::Tensor& rows) const;

  int64_t head_width_;
  torch::nn::Linear q_{nullptr}, k_{nullptr}, v_{nullptr}, memory_{nullptr}, memory_q_{nullptr}, memory_k_{nullptr},
      out_{nullptr};
};

}  // namespace longspan::nn
