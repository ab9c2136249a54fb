#include "field_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace longspan::tool {

std::string flag_of(const std::string& field) {
  std::string flag = "--" + field;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void add_field_flags(CLI::App& app, const std::string& group, const std::vector<FieldInfo>& fields,
                     const std::vector<std::string>& left_out, FieldValues& values) {
  for (const FieldInfo& field : fields) {
    if (std::find(left_out.begin(), left_out.end(), field.name) != left_out.end()) continue;
    std::string choices;
    for (const std::string& choice : field.choices) choices += (choices.empty() ? "" : "|") + choice;
    app.add_option_function<std::string>(
           flag_of(field.name), [&values, name = field.name](const std::string& text) { values[name] = text; },
           field.help + (choices.empty() ? "" : ": " + choices) + " (default: " + to_string(field.default_value) + ")")
        ->group(group);
  }
}

}  // namespace longspan::tool
