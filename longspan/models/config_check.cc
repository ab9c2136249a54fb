// What the registry of attentions says about a configuration: validate() and operator==. Its fields alone, in
// config.cc, need no LibTorch.
#include <algorithm>
#include <iterator>
#include <set>

#include "longspan/models/attention_config.h"
#include "longspan/models/config.h"
#include "longspan/models/encoder_config.h"
#include "longspan/nn/registry.h"

namespace longspan::models {

FieldValues changed_options(const std::string& attention, const FieldValues& options) {
  const auto& entry = nn::find_attention(attention);
  std::vector<std::string> names;
  for (const auto& info : entry.fields) names.push_back(info.name);
  FieldValues out;
  for (const auto& [name, value] : options) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) internal::unknown_field(entry.name, name, names);
    if (std::holds_alternative<std::monostate>(value)) continue;
    const FieldInfo& info = entry.fields[static_cast<std::size_t>(at - names.begin())];
    FieldValue checked = internal::checked(entry.name, info, value);
    if (checked != info.default_value) out[name] = std::move(checked);
  }
  return out;
}

namespace {

template <class Config>
void check_attention(const std::string& owner, const Config& config) {
  LONGSPAN_CHECK(config.width % config.heads == 0, owner, ": width must be a multiple of heads, got width ",
                 config.width, " and heads ", config.heads);
  LONGSPAN_CHECK(config.kv_heads == 0 || config.heads % config.kv_heads == 0, owner,
                 ": kv_heads must be 0 or a divisor of heads, got kv_heads ", config.kv_heads, " and heads ",
                 config.heads);
  LONGSPAN_CHECK(config.positions != Positions::rotary || config.width / config.heads % 2 == 0, owner,
                 ": rotary positions need an even width per head, got ", config.width / config.heads);
  changed_options(config.attention, config.attention_options);
}

bool same_options(const auto& a, const auto& b) {
  return changed_options(a.attention, a.attention_options) == changed_options(b.attention, b.attention_options);
}

/// With the special tokens as what they stand for.
FieldValues written_out(const EncoderConfig& config) {
  EncoderConfig out = config;
  const SpecialTokens special = special_tokens(config);
  out.first_token = special.first;
  out.separator_token = special.separator;
  out.padding_token = special.padding;
  out.mask_token = special.mask;
  return encoder_fields().values(out);
}

}  // namespace

void validate(const ModelConfig& config) {
  model_fields().validate(config);
  check_attention("model", config);
}

void validate(const EncoderConfig& config) {
  encoder_fields().validate(config);
  const SpecialTokens special = special_tokens(config);
  const int64_t all[] = {special.first, special.separator, special.padding, special.mask};
  for (const int64_t token : all)
    LONGSPAN_CHECK(token >= 0 && token < config.vocabulary, "encoder: special tokens must be from 0 to ",
                   config.vocabulary - 1, ", got ", token);
  LONGSPAN_CHECK(std::set<int64_t>(std::begin(all), std::end(all)).size() == std::size(all),
                 "encoder: special tokens must differ, got ", all[0], ", ", all[1], ", ", all[2], " and ", all[3]);
  check_attention("encoder", config);
  LONGSPAN_CHECK(std::ranges::count(nn::find_attention(config.attention).patterns, nn::Pattern::noncausal_self) > 0,
                 "encoder: the attention ", config.attention, " does not see both sides (noncausal_self)");
}

bool operator==(const ModelConfig& a, const ModelConfig& b) {
  return model_fields().values(a) == model_fields().values(b) && same_options(a, b);
}

bool operator==(const EncoderConfig& a, const EncoderConfig& b) {
  return written_out(a) == written_out(b) && same_options(a, b);
}

}  // namespace longspan::models
