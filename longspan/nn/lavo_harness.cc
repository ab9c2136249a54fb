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
  std::vector<Factor> all = {{"r", {int64_t{4}, int64_t{8}}}, {"w", {int64_t{3}, int64_t{1}, unset}},
                             {"epe", {unset, false}},         {"basis_gain", {unset, 1.5}},
                             {"dropout", {unset, 0.2}},       {"slot_dropout", {unset, 0.2}}};
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

std::vector<FieldValues> cover(Pattern pattern) {
  const std::vector<Factor> options = factors(pattern);
  const auto value = [&](const Assignment& row, const char* name) -> std::optional<FieldValue> {
    for (std::size_t f = 0; f < options.size(); ++f)
      if (options[f].name == name && row[f] != kUnset) return options[f].values[row[f]];
    return std::nullopt;
  };
  const auto allowed = [&](const Assignment& row) {  // A.2: tokens would see the rest of their window
    if (pattern != Pattern::causal_self) return true;
    const auto history = value(row, "history_attention"), update = value(row, "memory_update");
    return !history || !update || *history != FieldValue(std::string("block_bidirectional")) ||
           *update == FieldValue(std::string("window"));
  };
  std::vector<std::size_t> sizes;
  for (const Factor& factor : options) sizes.push_back(factor.values.size());
  std::vector<FieldValues> out;
  for (const Assignment& row : pairwise(sizes, allowed)) out.push_back(values_of(options, row));
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
