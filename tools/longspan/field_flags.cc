#include "field_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace longspan::tool {

namespace {

/// What stands behind the flag in the help text.
std::string type_of(const FieldInfo& field) {
  switch (field.kind) {
    case FieldInfo::Kind::boolean:
      return "true|false";
    case FieldInfo::Kind::integer:
      return "INT";
    case FieldInfo::Kind::real:
      return "NUMBER";
    case FieldInfo::Kind::text:
      return "TEXT";
    case FieldInfo::Kind::choice:
      break;
  }
  std::string names;
  for (const std::string& choice : field.choices) names += (names.empty() ? "" : "|") + choice;
  return names;
}

}  // namespace

std::string flag_of(const std::string& field) {
  std::string flag = "--" + field;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void add_field_flags(CLI::App& app, const std::string& group, const std::vector<FieldInfo>& fields,
                     const std::vector<std::string>& left_out, FieldValues& values) {
  for (const FieldInfo& field : fields) {
    if (std::find(left_out.begin(), left_out.end(), field.name) != left_out.end()) continue;
    app.add_option_function<std::string>(
           flag_of(field.name), [&values, name = field.name](const std::string& text) { values[name] = text; },
           field.help + " (default: " + to_string(field.default_value) + ")")
        ->type_name(type_of(field))
        ->group(group);
  }
}

}  // namespace longspan::tool
