#include <map>

#include "longspan/nn/lavo_options.h"
#include "longspan/nn/option_cover.h"

namespace longspan::nn {
namespace {

/// What the rules of idle options do not say.
bool allowed(Pattern pattern, const OptionLookup& value) {
  const FieldValue default_r = LavoOptions().r;
  // The default r is more than the head width.
  if (const auto combine = value("combine"); combine && *combine != FieldValue(std::string("local")))
    if (value("r") == default_r) return false;
  // A.2: tokens would see the rest of their window.
  return pattern != Pattern::causal_self ||
         value("history_attention") != FieldValue(std::string("block_bidirectional")) ||
         value("memory_update") != FieldValue(std::string("token"));
}

std::vector<FieldValues> cover(Pattern pattern) {
  const FieldValue unset;
  auto out = option_cover(lavo_fields().infos(),
                          {{"r", {int64_t{4}, int64_t{8}, unset}},
                           {"w", {int64_t{3}, int64_t{1}, unset}},
                           {"epe", {unset, false}},
                           {"basis_gain", {unset, 1.5}},
                           {"dropout", {unset, 0.2}},
                           {"slot_dropout", {unset, 0.2}}},
                          lavo_unused(pattern), lavo_idle(),
                          [pattern](const OptionLookup& value) { return allowed(pattern, value); });
  for (FieldValues& set : out)
    if (const auto scale = set.find("score_scale");
        scale != set.end() && scale->second == FieldValue(std::string("constant")))
      set["score_constant"] = 0.7;
  return out;
}

}  // namespace

const std::vector<FieldValues>& lavo_harness(Pattern pattern) {
  static const std::map<Pattern, std::vector<FieldValues>> covers = [] {
    std::map<Pattern, std::vector<FieldValues>> out;
    for (const Pattern p :
         {Pattern::causal_self, Pattern::noncausal_self, Pattern::causal_cross, Pattern::noncausal_cross})
      out[p] = cover(p);
    return out;
  }();
  return covers.at(pattern);
}

}  // namespace longspan::nn
