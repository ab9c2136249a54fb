// What the registry of attentions says about a configuration: validate() and operator==. Its fields alone, in
// config.cc, need no LibTorch.
#include <algorithm>

#include "longspan/models/config.h"
#include "longspan/nn/registry.h"

namespace longspan::models {

namespace {

/// The options as checked values, without those that are null or at their default.
FieldValues normalized(const nn::AttentionEntry& entry, const FieldValues& options) {
  FieldValues out;
  for (const auto& [name, value] : options) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    for (const auto& info : entry.fields) {
      if (info.name != name) continue;
      FieldValue checked = internal::checked(entry.name, info, value);
      if (checked != info.default_value) out[name] = std::move(checked);
    }
  }
  return out;
}

}  // namespace

void validate(const ModelConfig& config) {
  model_fields().validate(config);
  LONGSPAN_CHECK(config.width % config.heads == 0, "model: width must be a multiple of heads, got width ", config.width,
                 " and heads ", config.heads);
  LONGSPAN_CHECK(config.kv_heads == 0 || config.heads % config.kv_heads == 0,
                 "model: kv_heads must be 0 or a divisor of heads, got kv_heads ", config.kv_heads, " and heads ",
                 config.heads);
  LONGSPAN_CHECK(config.positions != Positions::rotary || config.width / config.heads % 2 == 0,
                 "model: rotary positions need an even width per head, got ", config.width / config.heads);
  const auto& entry = nn::find_attention(config.attention);
  std::vector<std::string> names;
  for (const auto& info : entry.fields) names.push_back(info.name);
  for (const auto& [name, value] : config.attention_options)
    if (std::find(names.begin(), names.end(), name) == names.end()) internal::unknown_field(entry.name, name, names);
  normalized(entry, config.attention_options);  // throws for a value out of range
}

bool operator==(const ModelConfig& a, const ModelConfig& b) {
  if (model_fields().values(a) != model_fields().values(b)) return false;
  const auto& entry = nn::find_attention(a.attention);
  return normalized(entry, a.attention_options) == normalized(entry, b.attention_options);
}

}  // namespace longspan::models
