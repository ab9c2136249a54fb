#include "longspan/models/config.h"

#include "longspan/models/attention_config.h"

namespace longspan::models {

const FieldTable<ModelConfig>& model_fields() {
  static const auto table =
      FieldTable<ModelConfig>("model")
          .text("attention", &ModelConfig::attention, "a registered attention")
          .integer("layers", &ModelConfig::layers, {1, 1024}, "blocks")
          .integer("width", &ModelConfig::width, {1, 1 << 16}, "width of the residual stream")
          .integer("heads", &ModelConfig::heads, {1, 1 << 12}, "attention heads, a divisor of width")
          .integer("kv_heads", &ModelConfig::kv_heads, {0, 1 << 12},
                   "heads of keys and values, a divisor of heads; 0 = as many")
          .integer("feed_forward", &ModelConfig::feed_forward, {1, 1 << 18}, "inner width of the feed-forward part")
          .integer("vocabulary", &ModelConfig::vocabulary, {1, kManyRows}, "tokens of the tokenizer")
          .choice("shape", &ModelConfig::shape, {{"gpt2", Shape::gpt2}, {"llama", Shape::llama}},
                  "gpt2: LayerNorm, GELU, biases; llama: RMSNorm, SwiGLU, none")
          .choice("positions", &ModelConfig::positions,
                  {{"none", Positions::none},
                   {"sinusoidal", Positions::sinusoidal},
                   {"learned", Positions::learned},
                   {"rotary", Positions::rotary}},
                  "sinusoidal, learned: added to the embedding; rotary: queries and keys are turned in every layer")
          .integer("max_positions", &ModelConfig::max_positions, {1, kManyRows}, "rows of learned positions")
          .real("rotary_base", &ModelConfig::rotary_base, {1, 1e12}, "base of the rotary frequencies")
          .boolean("tied", &ModelConfig::tied, "the head is the embedding")
          .real("dropout", &ModelConfig::dropout, {0, 0.99}, "on both residual branches, in training");
  return table;
}

Json to_json(const ModelConfig& config) { return attention_config_json(model_fields(), config); }

void merge_json(ModelConfig& config, const Json& json) { merge_attention_config(model_fields(), config, json); }

ModelConfig config_from_json(const Json& json) {
  ModelConfig config;
  merge_json(config, json);
  return config;
}

}  // namespace longspan::models
