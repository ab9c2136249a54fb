// longspan inspect attentions: the registry.
#include <cmath>

#include "inspect.h"
#include "longspan/base/fields.h"
#include "longspan/nn/registry.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"
#include "tools/longspan/output.h"

namespace longspan::tool {

namespace {

const char* kind_name(FieldInfo::Kind kind) {
  switch (kind) {
    case FieldInfo::Kind::boolean:
      return "boolean";
    case FieldInfo::Kind::integer:
      return "integer";
    case FieldInfo::Kind::real:
      return "real";
    case FieldInfo::Kind::text:
      return "text";
    case FieldInfo::Kind::choice:
      return "choice";
  }
  return "";
}

Json bound_to_json(FieldInfo::Kind kind, double bound) {
  if (!std::isfinite(bound)) return {};
  if (kind == FieldInfo::Kind::integer) return static_cast<int64_t>(bound);
  return bound;
}

Json describe(const FieldInfo& field) {
  Json json;
  json["name"] = field.name;
  json["kind"] = kind_name(field.kind);
  json["default"] = to_json(field.default_value);
  if (field.kind == FieldInfo::Kind::integer || field.kind == FieldInfo::Kind::real) {
    json["minimum"] = bound_to_json(field.kind, field.minimum);
    json["maximum"] = bound_to_json(field.kind, field.maximum);
  }
  if (field.kind == FieldInfo::Kind::choice) json["choices"] = field.choices;
  json["help"] = field.help;
  return json;
}

std::string allowed_values(const FieldInfo& field) {
  if (field.kind == FieldInfo::Kind::choice) return report::join(field.choices, ", ");
  if (field.kind == FieldInfo::Kind::boolean) return "true, false";
  const bool low = std::isfinite(field.minimum), high = std::isfinite(field.maximum);
  if (low && high) return bound_text(field, field.minimum) + " to " + bound_text(field, field.maximum);
  if (low) return "at least " + bound_text(field, field.minimum);
  if (high) return "at most " + bound_text(field, field.maximum);
  return "any";
}

std::vector<std::string> pattern_names(const nn::AttentionEntry& entry) {
  std::vector<std::string> names;
  for (const nn::Pattern pattern : entry.patterns) names.push_back(nn::to_string(pattern));
  return names;
}

void inspect_attentions(bool json) {
  for (const nn::AttentionEntry& entry : nn::attentions()) {
    if (json) {
      Json object;
      object["name"] = entry.name;
      object["summary"] = entry.summary;
      object["patterns"] = pattern_names(entry);
      object["streaming"] = entry.streaming;
      object["backends"] = entry.backends;
      object["options"] = Json::array();
      for (const FieldInfo& field : entry.fields) object["options"].push_back(describe(field));
      print_json(object);
      continue;
    }
    std::string text = entry.name + ": " + entry.summary + "\n  patterns: " + report::join(pattern_names(entry), ", ") +
                       "\n  streaming: " + (entry.streaming ? "yes" : "no") +
                       "\n  backends: " + report::join(entry.backends, ", ") + "\n";
    report::Table table;
    table.columns = {{"option"}, {"default"}, {"values"}, {"meaning"}};
    for (const FieldInfo& field : entry.fields)
      table.rows.push_back({field.name, longspan::to_string(field.default_value), allowed_values(field), field.help});
    if (!table.rows.empty()) text += report::indent(report::to_text(table), 2);
    print_text(text + "\n");
  }
}

}  // namespace

Action set_up_inspect_attentions(CLI::App&, const CommonOptions& common) {
  return [&common] { inspect_attentions(common.json); };
}

}  // namespace longspan::tool
