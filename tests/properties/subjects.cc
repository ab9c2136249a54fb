#include "subjects.h"

#include "longspan/base/check.h"

namespace longspan::testing {

namespace {

std::string name_of(at::ScalarType dtype) {
  return dtype == at::kDouble ? "float64" : dtype == at::kFloat ? "float32" : "bfloat16";
}

}  // namespace

FieldValues RegisteredSubject::options() const { return nn::harness_configurations(*entry, pattern).at(configuration); }

nn::AttentionPtr RegisteredSubject::make() const { return nn::make_attention(entry->name, pattern, sizes, options()); }

Subject RegisteredSubject::subject() const {
  std::string name = str_cat(entry->name, " ", nn::to_string(pattern), " ", name_of(dtype), " {");
  for (const auto& [field, value] : options()) name += str_cat(" ", field, "=", to_string(value));
  return {name + " }", [self = *this] { return self.make(); }, dtype};
}

std::string RegisteredSubject::test_name() const {
  return str_cat(entry->name, "_", configuration, "_", nn::to_string(pattern), "_", name_of(dtype));
}

std::vector<RegisteredSubject> registered_subjects(bool first_configuration_only, nn::AttentionSizes sizes,
                                                   const std::vector<at::ScalarType>& dtypes) {
  std::vector<RegisteredSubject> out;
  for (const auto& entry : nn::attentions())
    for (const auto pattern : entry.patterns) {
      const size_t configurations = nn::harness_configurations(entry, pattern).size();
      for (size_t c = 0; c < (first_configuration_only ? 1 : configurations); ++c)
        for (const auto dtype : dtypes) out.push_back({&entry, c, pattern, dtype, sizes});
    }
  return out;
}

}  // namespace longspan::testing
