#include <algorithm>
#include <map>
#include <optional>

#include "longspan/base/pairwise.h"
#include "longspan/nn/lavo_options.h"

namespace longspan::nn {
namespace {

/// An option and its settings; null leaves it at its default.
struct Factor {
  std::string name;
  std::vector<FieldValue> values;
};

std::vector<Factor> factors(Pattern pattern) {
  const FieldValue unset;
  std::vector<Factor> all = {{"r", {int64_t{4}, int64_t{8}, unset}},
                             {"w", {int64_t{3}, int64_t{1}, unset}},
                             {"epe", {unset, false}},
                             {"basis_gain", {unset, 1.5}},
                             {"dropout", {unset, 0.2}},
                             {"slot_dropout", {unset, 0.2}}};
  // Of the others every choice, the default first.
  for (const FieldInfo& info : lavo_fields().infos()) {
    if (info.kind != FieldInfo::Kind::choice) continue;
    Factor factor = {info.name, {unset}};
    for (const std::string& choice : info.choices)
      if (FieldValue(choice) != info.default_value) factor.values.emplace_back(choice);
    all.push_back(std::move(factor));
  }
  const std::vector<std::string> unused = lavo_unused(pattern);
  std::erase_if(all, [&](const Factor& f) { return std::find(unused.begin(), unused.end(), f.name) != unused.end(); });
  return all;
}

FieldValues values_of(const std::vector<Factor>& factors, const Assignment& row) {
  FieldValues out;
  for (std::size_t f = 0; f < factors.size(); ++f)
    if (row[f] != kUnset && !std::holds_alternative<std::monostate>(factors[f].values[row[f]]))
      out[factors[f].name] = factors[f].values[row[f]];
  if (const auto scale = out.find("score_scale");
      scale != out.end() && scale->second == FieldValue(std::string("constant")))
    out["score_constant"] = 0.7;
  return out;
}

/// Whether the options that `row` sets can go together.
bool allowed(Pattern pattern, const std::vector<Factor>& factors, const Assignment& row) {
  using std::string;
  std::map<string, FieldValue> defaults;
  for (const FieldInfo& info : lavo_fields().infos()) defaults[info.name] = info.default_value;
  const auto value = [&](const string& name) -> std::optional<FieldValue> {
    const auto factor = std::find_if(factors.begin(), factors.end(), [&](const Factor& f) { return f.name == name; });
    if (factor == factors.end()) return defaults.at(name);
    const std::size_t chosen = row[static_cast<std::size_t>(factor - factors.begin())];
    if (chosen == kUnset) return std::nullopt;
    const FieldValue& set = factor->values[chosen];
    return std::holds_alternative<std::monostate>(set) ? defaults.at(name) : set;
  };
  for (const IdleRule& rule : lavo_idle()) {
    if (!applies(rule, value)) continue;
    for (const string& name : rule.idle)
      if (const auto idle = value(name); idle && *idle != defaults.at(name)) return false;
  }
  // The default r is more than the head width.
  if (const auto combine = value("combine"); combine && *combine != FieldValue(string("local")))
    if (value("r") == defaults.at("r")) return false;
  const auto history = value("history_attention"), update = value("memory_update");  // A.2: tokens would see the rest
  return pattern != Pattern::causal_self || history != FieldValue(string("block_bidirectional")) ||  // of their window
         update != FieldValue(string("token"));
}

std::vector<FieldValues> cover(Pattern pattern) {
  const std::vector<Factor> options = factors(pattern);
  std::vector<std::size_t> sizes;
  for (const Factor& factor : options) sizes.push_back(factor.values.size());
  std::vector<FieldValues> out;
  for (const Assignment& row :
       pairwise(sizes, [&](const Assignment& partial) { return allowed(pattern, options, partial); }))
    out.push_back(values_of(options, row));
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
