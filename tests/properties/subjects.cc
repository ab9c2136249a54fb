#include "subjects.h"

namespace longspan::testing {

FieldValues RegisteredSubject::options() const { return nn::harness_configurations(*entry, pattern).at(configuration); }

nn::AttentionPtr RegisteredSubject::make() const { return nn::make_attention(entry->name, pattern, sizes, options()); }

Subject RegisteredSubject::subject() const {
  std::string name = entry->name + " " + nn::to_string(pattern) + (dtype == at::kDouble ? " float64 {" : " float32 {");
  for (const auto& [field, value] : options()) name += " " + field + "=" + to_string(value);
  return {name + " }", [self = *this] { return self.make(); }, dtype};
}

std::string RegisteredSubject::test_name() const {
  return entry->name + "_" + std::to_string(configuration) + "_" + nn::to_string(pattern) +
         (dtype == at::kDouble ? "_float64" : "_float32");
}

std::vector<RegisteredSubject> registered_subjects(bool first_configuration_only, nn::AttentionSizes sizes) {
  std::vector<RegisteredSubject> out;
  for (const auto& entry : nn::attentions())
    for (const auto pattern : entry.patterns) {
      const size_t configurations = nn::harness_configurations(entry, pattern).size();
      for (size_t c = 0; c < (first_configuration_only ? 1 : configurations); ++c)
        for (const auto dtype : {at::kDouble, at::kFloat}) out.push_back({&entry, c, pattern, dtype, sizes});
    }
  return out;
}

}  // namespace longspan::testing
