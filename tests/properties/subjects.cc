#include "subjects.h"

namespace longspan::testing {

namespace {
constexpr nn::AttentionSizes kSizes = {.width = 32, .heads = 2};
}

FieldValues RegisteredSubject::options() const { return entry->harness_configurations.at(configuration); }

nn::AttentionPtr RegisteredSubject::make() const { return nn::make_attention(entry->name, pattern, kSizes, options()); }

Subject RegisteredSubject::subject() const {
  std::string name = entry->name + " " + nn::to_string(pattern) + (dtype == at::kDouble ? " float64 {" : " float32 {");
  for (const auto& [field, value] : options()) name += " " + field + "=" + to_string(value);
  return {name + " }", [self = *this] { return self.make(); }, dtype};
}

std::string RegisteredSubject::test_name() const {
  return entry->name + "_" + std::to_string(configuration) + "_" + nn::to_string(pattern) +
         (dtype == at::kDouble ? "_float64" : "_float32");
}

std::vector<RegisteredSubject> registered_subjects(bool first_configuration_only) {
  std::vector<RegisteredSubject> out;
  for (const auto& entry : nn::attentions())
    for (size_t c = 0; c < (first_configuration_only ? 1 : entry.harness_configurations.size()); ++c)
      for (const auto pattern : entry.patterns)
        for (const auto dtype : {at::kDouble, at::kFloat}) {
          const RegisteredSubject subject{&entry, c, pattern, dtype};
          // A configuration may set an option that a pattern has no use for, which the method refuses by design.
          try {
            subject.make();
          } catch (const InputError&) {
            continue;
          }
          out.push_back(subject);
        }
  return out;
}

}  // namespace longspan::testing
