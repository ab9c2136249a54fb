#include "longspan/nn/usable_options.h"

#include <algorithm>

namespace longspan::nn {
namespace {

/// "combine = global and memory_input = raw"
std::string joined(const std::vector<IdleRule::Setting>& settings) {
  std::string out;
  for (const auto& [name, value] : settings)
    out += (out.empty() ? "" : " and ") + name + " = " + longspan::to_string(value);
  return out;
}

std::string reason(const IdleRule& rule) {
  return rule.when.empty() ? "without " + joined(rule.unless) : "with " + joined(rule.when);
}

}  // namespace

void refuse_unused(const std::string& method, Pattern pattern, const std::vector<std::string>& unused,
                   const FieldValues& given) {
  for (const std::string& name : unused) {
    const auto found = given.find(name);
    LONGSPAN_CHECK(found == given.end() || std::holds_alternative<std::monostate>(found->second), method, ": ", name,
                   " has no use in the pattern ", to_string(pattern), ", got ", longspan::to_string(found->second));
  }
}

FieldValues with_nulls(FieldValues values, const std::vector<std::string>& unused) {
  for (const std::string& name : unused) values[name] = std::monostate{};
  return values;
}

FieldValues without(FieldValues values, const std::vector<std::string>& unused) {
  for (const std::string& name : unused) values.erase(name);
  return values;
}

bool applies(const IdleRule& rule, const OptionLookup& value) {
  const auto holds = [&](const IdleRule::Setting& setting) { return value(setting.first) == setting.second; };
  const auto fails = [&](const IdleRule::Setting& setting) {
    const std::optional<FieldValue> found = value(setting.first);
    return found && *found != setting.second;
  };
  return std::all_of(rule.when.begin(), rule.when.end(), holds) &&
         std::all_of(rule.unless.begin(), rule.unless.end(), fails);
}

std::vector<std::string> idle_options(const std::vector<IdleRule>& rules, const FieldValues& values) {
  const auto value = [&](const std::string& name) -> std::optional<FieldValue> { return values.at(name); };
  std::vector<std::string> out;
  for (const IdleRule& rule : rules)
    if (applies(rule, value)) out.insert(out.end(), rule.idle.begin(), rule.idle.end());
  return out;
}

void refuse_idle(const std::string& method, const std::vector<IdleRule>& rules, const std::vector<FieldInfo>& fields,
                 const FieldValues& values) {
  const auto value = [&](const std::string& name) -> std::optional<FieldValue> { return values.at(name); };
  for (const IdleRule& rule : rules) {
    if (!applies(rule, value)) continue;
    for (const FieldInfo& field : fields) {
      if (std::find(rule.idle.begin(), rule.idle.end(), field.name) == rule.idle.end()) continue;
      LONGSPAN_CHECK(values.at(field.name) == field.default_value, method, ": ", field.name, " has no use ",
                     reason(rule), ", got ", longspan::to_string(values.at(field.name)));
    }
  }
}

}  // namespace longspan::nn
