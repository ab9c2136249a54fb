#include "longspan/nn/usable_options.h"

namespace longspan::nn {

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

}  // namespace longspan::nn
