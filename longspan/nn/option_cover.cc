#include "longspan/nn/option_cover.h"

#include <algorithm>
#include <map>
#include <optional>

#include "longspan/base/pairwise.h"

namespace longspan::nn {
namespace {

bool is_null(const FieldValue& value) { return std::holds_alternative<std::monostate>(value); }

std::vector<OptionFactor> usable(const std::vector<FieldInfo>& fields, std::vector<OptionFactor> factors,
                                 const std::vector<std::string>& unused) {
  for (const FieldInfo& info : fields) {
    if (info.kind != FieldInfo::Kind::choice) continue;
    OptionFactor factor = {info.name, {FieldValue()}};
    for (const std::string& choice : info.choices)
      if (FieldValue(choice) != info.default_value) factor.values.emplace_back(choice);
    factors.push_back(std::move(factor));
  }
  std::erase_if(factors,
                [&](const OptionFactor& f) { return std::find(unused.begin(), unused.end(), f.name) != unused.end(); });
  return factors;
}

}  // namespace

std::vector<FieldValues> option_cover(const std::vector<FieldInfo>& fields, std::vector<OptionFactor> factors,
                                      const std::vector<std::string>& unused, const std::vector<IdleRule>& idle,
                                      const std::function<bool(const OptionLookup&)>& allowed) {
  factors = usable(fields, std::move(factors), unused);
  std::map<std::string, FieldValue> defaults;
  for (const FieldInfo& info : fields) defaults[info.name] = info.default_value;

  const auto goes_together = [&](const Assignment& row) {
    const auto value = [&](const std::string& name) -> std::optional<FieldValue> {
      for (std::size_t f = 0; f < factors.size(); ++f) {
        if (factors[f].name != name) continue;
        if (row[f] == kUnset) return std::nullopt;
        const FieldValue& set = factors[f].values[row[f]];
        return is_null(set) ? defaults.at(name) : set;
      }
      return defaults.at(name);
    };
    for (const IdleRule& rule : idle) {
      if (!applies(rule, value)) continue;
      for (const std::string& name : rule.idle)
        if (const auto set = value(name); set && *set != defaults.at(name)) return false;
    }
    return allowed(value);
  };

  std::vector<std::size_t> sizes;
  for (const OptionFactor& factor : factors) sizes.push_back(factor.values.size());
  std::vector<FieldValues> out;
  for (const Assignment& row : pairwise(sizes, goes_together)) {
    FieldValues set;
    for (std::size_t f = 0; f < factors.size(); ++f)
      if (row[f] != kUnset && !is_null(factors[f].values[row[f]])) set[factors[f].name] = factors[f].values[row[f]];
    out.push_back(std::move(set));
  }
  return out;
}

}  // namespace longspan::nn
