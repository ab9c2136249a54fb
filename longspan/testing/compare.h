// Comparison of results against a reference with computed bounds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace longspan::testing {

/// Unit roundoff of T: half the distance from 1 to the next number.
template <class T>
constexpr double unit_roundoff() {
  return std::numeric_limits<T>::epsilon() / 2.0;
}

/// Error bound of a sum of `terms` products accumulated in T in any order, relative to the sum of absolute values:
/// terms * u, plus the roundings of the operands.
template <class T>
constexpr double sum_bound(int64_t terms) {
  return (static_cast<double>(terms) + 4) * unit_roundoff<T>();
}

/// Result of a comparison: ok, or a text with the worst index, both values, the number of misses and the bound.
struct Comparison {
  bool ok = true;
  std::string message;
  explicit operator bool() const { return ok; }
};

/// |actual[i] - expected[i]| <= bound for every i, NaN never passes.
Comparison within(const float* actual, const double* expected, int64_t size, double bound);
Comparison within(const double* actual, const double* expected, int64_t size, double bound);

/// Equal bit for bit.
Comparison same_bits(const float* actual, const float* expected, int64_t size);
Comparison same_bits(const double* actual, const double* expected, int64_t size);

}  // namespace longspan::testing
