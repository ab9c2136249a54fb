#include "longspan/models/encoder_config.h"

#include "longspan/models/attention_config.h"

namespace longspan::models {

namespace {

EncoderConfig base() {
  EncoderConfig config;
  config.attention = "diffuser";
  config.attention_options = {{"pattern", std::string("reference")}, {"hops", int64_t{5}},  {"alpha", 0.1},
                              {"padding", std::string("reference")}, {"attn_dropout", 0.1}, {"hop_dropout", 0.1}};
  config.layers = 12;
  config.width = 768;
  config.heads = 12;
  config.feed_forward = 3072;
  config.vocabulary = 50265;
  config.max_positions = 4096;
  config.position_offset = 2;
  config.first_token = 0;
  config.padding_token = 1;
  config.separator_token = 2;
  config.mask_token = 50264;
  return config;
}

}  // namespace

const FieldTable<EncoderConfig>& encoder_fields() {
  using C = EncoderConfig;
  static const auto table =
      FieldTable<C>("encoder")
          .text("attention", &C::attention, "a registered attention that sees both sides")
          .integer("layers", &C::layers, {1, 1024}, "blocks")
          .integer("width", &C::width, {1, 1 << 16}, "width of the residual stream")
          .integer("heads", &C::heads, {1, 1 << 12}, "attention heads, a divisor of width")
          .integer("kv_heads", &C::kv_heads, {0, 1 << 12}, "heads of keys and values, a divisor of heads; 0 = as many")
          .integer("feed_forward", &C::feed_forward, {1, 1 << 18}, "inner width of the feed-forward part")
          .integer("vocabulary", &C::vocabulary, {kSpecialTokens, kManyRows},
                   "tokens of the tokenizer and special tokens")
          .choice("norm", &C::norm, {{"pre", NormPlace::pre}, {"post", NormPlace::post}},
                  "pre: x + branch(norm(x)) and a final norm; post: norm(x + branch(x)), as RoBERTa")
          .choice("positions", &C::positions,
                  {{"none", Positions::none},
                   {"sinusoidal", Positions::sinusoidal},
                   {"learned", Positions::learned},
                   {"rotary", Positions::rotary}},
                  "sinusoidal, learned: added to the embedding; rotary: queries and keys are turned in every layer")
          .integer("max_positions", &C::max_positions, {1, kManyRows},
                   "tokens of the longest sequence with learned positions")
          .integer("position_offset", &C::position_offset, {0, 1024},
                   "row of the learned positions that the first token reads")
          .real("rotary_base", &C::rotary_base, {1, 1e12}, "base of the rotary frequencies")
          .real("dropout", &C::dropout, {0, 0.99}, "on embedding, branches and heads, in training")
          .real("deviation", &C::deviation, {1e-6, 1}, "of the initial matrices")
          .integer("first_token", &C::first_token, {-kManyRows, kManyRows},
                   "begins every sequence; a negative number counts from the end of the vocabulary")
          .integer("separator_token", &C::separator_token, {-kManyRows, kManyRows}, "ends every part of a sequence")
          .integer("padding_token", &C::padding_token, {-kManyRows, kManyRows}, "stands where there is no token")
          .integer("mask_token", &C::mask_token, {-kManyRows, kManyRows}, "stands for a hidden token")
          .integer("separators", &C::separators, {1, 2},
                   "separators between the texts of a sequence: 2 as RoBERTa, 1 as BERT");
  return table;
}

EncoderConfig encoder_preset(const std::string& name) {
  if (name == "tiny") return {};
  if (name == "base") return base();
  internal::unknown_field("encoder preset", name, encoder_presets());
}

std::vector<std::string> encoder_presets() { return {"tiny", "base"}; }

SpecialTokens special_tokens(const EncoderConfig& config) {
  const auto number = [&](int64_t token) { return token < 0 ? config.vocabulary + token : token; };
  return {number(config.first_token), number(config.separator_token), number(config.padding_token),
          number(config.mask_token), config.separators};
}

Json to_json(const EncoderConfig& config) { return attention_config_json(encoder_fields(), config); }

void merge_json(EncoderConfig& config, const Json& json) { merge_attention_config(encoder_fields(), config, json); }

EncoderConfig encoder_from_json(const Json& json) {
  EncoderConfig config;
  merge_json(config, json);
  return config;
}

}  // namespace longspan::models
