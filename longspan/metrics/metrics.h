// Measured values by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longspan::metrics {

/// Values by name, in the order in which they are shown.
using Metrics = std::vector<std::pair<std::string, double>>;

/// The value of that name, if there is one.
inline std::optional<double> value_of(const Metrics& metrics, std::string_view name) {
  for (const auto& [each, value] : metrics)
    if (each == name) return value;
  return std::nullopt;
}

}  // namespace longspan::metrics
