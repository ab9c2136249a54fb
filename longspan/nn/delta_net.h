// Layers whose memory is written by the delta rule: DeltaNet (arXiv:2406.06484) and, with decay, Gated DeltaNet
// (arXiv:2412.06464).
#pragma once

#include "longspan/nn/memory_layer.h"

namespace longspan::nn {

struct DeltaNetOptions {
  MemoryLayerOptions layer = {.output_gate = false};
  bool negative_eigenvalues = false;  ///< beta up to 2 and not 1
};
const FieldTable<DeltaNetOptions>& delta_net_fields();
std::map<std::string, std::vector<int64_t>> parameter_tables(const AttentionSizes& sizes,
                                                             const DeltaNetOptions& options);

struct GatedDeltaNetOptions {
  /// With keys of 3/4 and values of 3/2 of the model's width the five maps have 6 E^2 numbers.
  MemoryLayerOptions layer = {.expand_k = 0.75, .expand_v = 1.5};
  bool negative_eigenvalues = false;  ///< beta up to 2 and not 1
};
const FieldTable<GatedDeltaNetOptions>& gated_delta_net_fields();
std::map<std::string, std::vector<int64_t>> parameter_tables(const AttentionSizes& sizes,
                                                             const GatedDeltaNetOptions& options);

/// MemoryLayer with silu, keys of norm 1 and the delta rule;
///
///   beta_t = sigmoid(W_b x_t), times 2 with negative_eigenvalues
///
/// (a write then may turn the sign of what its key reads: I - beta k k^T has the eigenvalue 1 - beta). Parameters
/// beside those of MemoryLayer: `beta` [H, E], with sizes.bias a bias, 0 at the start.
class DeltaNetAttention : public MemoryLayer {
 public:
  DeltaNetAttention(Pattern pattern, AttentionSizes sizes, const DeltaNetOptions& options);

  FieldValues options() const override;

 protected:
  DeltaNetAttention(const std::string& name, Pattern pattern, AttentionSizes sizes, const MemoryLayerOptions& layer,
                    bool negative_eigenvalues, MemoryDecay decay);
  Gates gates(const at::Tensor& x) override { return {beta(beta_.of(x)), {}}; }
  Gates gates_of_nothing(int64_t batch, int64_t length, const at::TensorOptions& options) override {
    return {beta(beta_.of_nothing(batch, length, options)), {}};
  }
  bool negative_eigenvalues() const { return negative_eigenvalues_; }

 private:
  at::Tensor beta(const at::Tensor& logits) const {
    return negative_eigenvalues_ ? logits.sigmoid() * 2 : logits.sigmoid();
  }

  bool negative_eigenvalues_;
  GateLogits beta_;
};

/// The same with decay, one number a token and head:
///
///   log alpha_t = -exp(A_log) softplus(W_a x_t + dt_bias)
///
/// Parameters besides: `forget` [H, E]; `A_log` [H], the logarithm of a uniform number of (0, 16) at the start;
/// `dt_bias` [H], such that softplus(dt_bias) is log-uniform in .001 ... .1 at the start.
class GatedDeltaNetAttention final : public DeltaNetAttention {
 public:
  GatedDeltaNetAttention(Pattern pattern, AttentionSizes sizes, const GatedDeltaNetOptions& options);

  FieldValues options() const override;

 protected:
  Gates gates(const at::Tensor& x) override;
  Gates gates_of_nothing(int64_t batch, int64_t length, const at::TensorOptions& options) override;

 private:
  at::Tensor log_alpha(const at::Tensor& logits) const;

  GateLogits forget_;
  at::Tensor a_log_, dt_bias_;
};

}  // namespace longspan::nn
