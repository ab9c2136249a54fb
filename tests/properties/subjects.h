// Every registered attention in each of its harness configurations, patterns and dtypes.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "longspan/nn/registry.h"
#include "longspan/testing/properties/properties.h"

namespace longspan::testing {

struct RegisteredSubject {
  const nn::AttentionEntry* entry;
  size_t configuration;  ///< of nn::harness_configurations(entry, pattern)
  nn::Pattern pattern;
  at::ScalarType dtype;
  nn::AttentionSizes sizes;

  FieldValues options() const;
  nn::AttentionPtr make() const;
  Subject subject() const;
  /// A name that GoogleTest accepts: letters, digits and underscores, unique.
  std::string test_name() const;
};

/// Stands in GoogleTest's messages.
inline void PrintTo(const RegisteredSubject& subject, std::ostream* out) { *out << subject.subject().name; }

std::vector<RegisteredSubject> registered_subjects(bool first_configuration_only = false,
                                                   nn::AttentionSizes sizes = {.width = 32, .heads = 2},
                                                   const std::vector<at::ScalarType>& dtypes = {at::kDouble,
                                                                                                at::kFloat});

}  // namespace longspan::testing
