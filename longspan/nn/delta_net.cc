#include "longspan/nn/delta_net.h"

#include <cmath>
#include <limits>

#include "longspan/nn/projections.h"

namespace longspan::nn {
namespace {

constexpr double kLargestRate = 16;                          // exp(A_log) at the start
constexpr double kShortestStep = 0.001, kLongestStep = 0.1;  // softplus(dt_bias) at the start

constexpr const char* kNegative = "beta, the part of a value that is written, goes up to 2, not 1: signs may turn";

}  // namespace

const FieldTable<DeltaNetOptions>& delta_net_fields() {
  using O = DeltaNetOptions;
  static const auto table = FieldTable<O>("delta_net")
                                .part(&O::layer, memory_layer_fields())
                                .boolean("negative_eigenvalues", &O::negative_eigenvalues, kNegative);
  return table;
}

const FieldTable<GatedDeltaNetOptions>& gated_delta_net_fields() {
  using O = GatedDeltaNetOptions;
  static const auto table = FieldTable<O>("gated_delta_net")
                                .part(&O::layer, memory_layer_fields())
                                .boolean("negative_eigenvalues", &O::negative_eigenvalues, kNegative);
  return table;
}

std::map<std::string, std::vector<int64_t>> parameter_tables(const AttentionSizes& sizes,
                                                             const DeltaNetOptions& options) {
  return memory_layer_tables("delta_net", sizes, options.layer);
}

std::map<std::string, std::vector<int64_t>> parameter_tables(const AttentionSizes& sizes,
                                                             const GatedDeltaNetOptions& options) {
  return memory_layer_tables("gated_delta_net", sizes, options.layer);
}

DeltaNetAttention::DeltaNetAttention(const std::string& name, Pattern pattern, AttentionSizes sizes,
                                     const MemoryLayerOptions& layer, bool negative_eigenvalues, MemoryDecay decay)
    : MemoryLayer(name, pattern, sizes, layer, {.decay = decay}),
      negative_eigenvalues_(negative_eigenvalues),
      beta_(*this, "beta", sizes.width, sizes.heads, 0, sizes.bias, kInputGain) {}

DeltaNetAttention::DeltaNetAttention(Pattern pattern, AttentionSizes sizes, const DeltaNetOptions& options)
    : DeltaNetAttention("delta_net", pattern, sizes, checked(delta_net_fields(), options).layer,
                        options.negative_eigenvalues, MemoryDecay::none) {}

FieldValues DeltaNetAttention::options() const {
  return delta_net_fields().values({layer_options(), negative_eigenvalues_});
}

GatedDeltaNetAttention::GatedDeltaNetAttention(Pattern pattern, AttentionSizes sizes,
                                               const GatedDeltaNetOptions& options)
    : DeltaNetAttention("gated_delta_net", pattern, sizes, checked(gated_delta_net_fields(), options).layer,
                        options.negative_eigenvalues, MemoryDecay::scalar),
      forget_(*this, "forget", sizes.width, sizes.heads, 0, false, kInputGain) {
  // A draw of 0, one in 2^24, would be a head that never forgets nor learns to.
  const at::Tensor rate = torch::empty({sizes.heads}).uniform_(0, kLargestRate);
  a_log_ = register_parameter("A_log", rate.clamp_min(std::numeric_limits<float>::min()).log());
  const at::Tensor step = (torch::rand({sizes.heads}) * std::log(kLongestStep / kShortestStep)).exp() * kShortestStep;
  dt_bias_ = register_parameter("dt_bias", step.expm1().log());  // softplus of it is the step
}

FieldValues GatedDeltaNetAttention::options() const {
  return gated_delta_net_fields().values({layer_options(), negative_eigenvalues()});
}

at::Tensor GatedDeltaNetAttention::log_alpha(const at::Tensor& logits) const {
  const auto a_head = [&](const at::Tensor& numbers) { return numbers.to(logits.scalar_type()).unsqueeze(-1); };
  return -a_head(a_log_).exp() * at::softplus(logits + a_head(dt_bias_));
}

MemoryLayer::Gates GatedDeltaNetAttention::gates(const at::Tensor& x) {
  Gates out = DeltaNetAttention::gates(x);
  out.log_alpha = log_alpha(forget_.of(x));
  return out;
}

MemoryLayer::Gates GatedDeltaNetAttention::gates_of_nothing(int64_t batch, int64_t length,
                                                            const at::TensorOptions& options) {
  Gates out = DeltaNetAttention::gates_of_nothing(batch, length, options);
  out.log_alpha = log_alpha(forget_.of_nothing(batch, length, options));
  return out;
}

}  // namespace longspan::nn
