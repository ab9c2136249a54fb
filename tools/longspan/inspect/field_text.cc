#include "field_text.h"

#include <cmath>

#include "longspan/report/format.h"

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

std::string allowed_values(const FieldInfo& field) {
  if (field.kind == FieldInfo::Kind::choice) return report::join(field.choices, ", ");
  if (field.kind == FieldInfo::Kind::boolean) return "true, false";
  const bool low = std::isfinite(field.minimum), high = std::isfinite(field.maximum);
  if (low && high) return bound_text(field, field.minimum) + " to " + bound_text(field, field.maximum);
  if (low) return "at least " + bound_text(field, field.minimum);
  if (high) return "at most " + bound_text(field, field.maximum);
  return "any";
}

}  // namespace

Json describe(const FieldInfo& field) {
  Json json;
  json["name"] = field.name;
  json["kind"] = kind_name(field.kind);
  json["default"] = longspan::to_json(field.default_value);
  if (field.kind == FieldInfo::Kind::integer || field.kind == FieldInfo::Kind::real) {
    json["minimum"] = bound_to_json(field.kind, field.minimum);
    json["maximum"] = bound_to_json(field.kind, field.maximum);
  }
  if (field.kind == FieldInfo::Kind::choice) json["choices"] = field.choices;
  json["help"] = field.help;
  return json;
}

Json describe(const std::vector<FieldInfo>& fields) {
  Json out = Json::array();
  for (const FieldInfo& field : fields) out.push_back(describe(field));
  return out;
}

report::Table field_table(const std::vector<FieldInfo>& fields, const std::string& first) {
  report::Table table;
  table.columns = {{first}, {"default"}, {"values"}, {"meaning"}};
  for (const FieldInfo& field : fields)
    table.rows.push_back({field.name, longspan::to_string(field.default_value), allowed_values(field), field.help});
  return table;
}

}  // namespace longspan::tool
