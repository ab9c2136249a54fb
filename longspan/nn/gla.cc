#include "longspan/nn/gla.h"

#include "longspan/nn/packing.h"
#include "longspan/nn/projections.h"

namespace longspan::nn {

const FieldTable<GlaOptions>& gla_fields() {
  using O = GlaOptions;
  static const auto table = FieldTable<O>("gla")
                                .part(&O::layer, memory_layer_fields())
                                .integer("gate_rank", &O::gate_rank, {1, 1 << 16},
                                         "rank of the map from the input to the gates of forgetting")
                                .real("gate_temperature", &O::gate_temperature, {1e-3, 1e6},
                                      "divides the logarithm of what is kept: the more, the slower memories fade");
  return table;
}

std::map<std::string, std::vector<int64_t>> parameter_tables(const AttentionSizes& sizes, const GlaOptions& options) {
  auto out = memory_layer_tables("gla", sizes, options.layer);
  const int64_t slots = sizes.key_heads() * memory_key_width("gla", sizes, options.layer);
  if (options.gate_rank > sizes.width) out["forget_in.weight"] = {options.gate_rank, sizes.width};
  if (slots * options.gate_rank > sizes.width * sizes.width) out["forget.weight"] = {slots, options.gate_rank};
  return out;
}

GlaAttention::GlaAttention(Pattern pattern, AttentionSizes sizes, const GlaOptions& options)
    : MemoryLayer("gla", pattern, sizes, checked(gla_fields(), options).layer,
                  {.activation = options.layer.conv, .unit = false, .delta = false, .decay = MemoryDecay::per_slot}),
      options_(options) {
  forget_in_ = make_linear(*this, "forget_in", sizes.width, options.gate_rank, false, kInputGain);
  forget_ = GateLogits(*this, "forget", options.gate_rank, sizes.key_heads(), key_width(), true, kInputGain);
}

MemoryLayer::Gates GlaAttention::gates_from(const at::Tensor& logits) const {
  const at::Tensor one = at::ones({1}, logits.options().requires_grad(false));
  return {one.expand({logits.size(0), sizes().heads, logits.size(2)}),
          spread_heads(at::log_sigmoid(logits) / options_.gate_temperature, sizes().heads)};
}

MemoryLayer::Gates GlaAttention::gates(const at::Tensor& x) { return gates_from(forget_.of(forget_in_->forward(x))); }

MemoryLayer::Gates GlaAttention::gates_of_nothing(int64_t batch, int64_t length, const at::TensorOptions& options) {
  return gates_from(forget_.of_nothing(batch, length, options));
}

}  // namespace longspan::nn
