// Gated linear attention (arXiv:2312.06635).
#pragma once

#include "longspan/nn/memory_layer.h"

namespace longspan::nn {

struct GlaOptions {
  /// With keys of half the model's width the five maps have 4 E^2 numbers.
  MemoryLayerOptions layer = {.expand_k = 0.5, .conv = false};
  int64_t gate_rank = 16;        ///< of the map of the gates
  double gate_temperature = 16;  ///< the more, the slower memories fade
};
const FieldTable<GlaOptions>& gla_fields();
std::map<std::string, std::vector<int64_t>> parameter_tables(const AttentionSizes& sizes, const GlaOptions& options);

/// MemoryLayer with decay for every slot and without the delta rule; silu behind the convolution, where there is one:
///
///   beta_t = 1,   log alpha_t = log sigmoid(W_2 W_1 x_t + b) / gate_temperature
///
/// Parameters beside those of MemoryLayer: `forget_in` [gate_rank, E], `forget` (weight [Hk R, gate_rank] and bias, 0
/// at the start). With grouped heads decay is that of the key head.
class GlaAttention final : public MemoryLayer {
 public:
  GlaAttention(Pattern pattern, AttentionSizes sizes, const GlaOptions& options);

  FieldValues options() const override { return gla_fields().values(options_); }

 protected:
  Gates gates(const at::Tensor& x) override;
  Gates gates_of_nothing(int64_t batch, int64_t length, const at::TensorOptions& options) override;

 private:
  Gates gates_from(const at::Tensor& logits) const;

  GlaOptions options_;
  torch::nn::Linear forget_in_{nullptr};
  GateLogits forget_;
};

}  // namespace longspan::nn
