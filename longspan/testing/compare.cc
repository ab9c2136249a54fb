#include "longspan/testing/compare.h"

#include <cmath>
#include <cstring>
#include <sstream>

namespace longspan::testing {
namespace {

template <class T>
Comparison compare_within(const T* actual, const double* expected, int64_t size, double bound) {
  int64_t misses = 0, worst = -1;
  double worst_error = -1;
  for (int64_t i = 0; i < size; ++i) {
    const double error = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (error <= bound) continue;
    ++misses;
    if (worst < 0 || std::isnan(error) || error > worst_error) {
      worst = i;
      worst_error = error;
      if (std::isnan(error)) worst_error = INFINITY;
    }
  }
  if (misses == 0) return {};
  std::ostringstream out;
  out.precision(17);
  out << misses << " of " << size << " outside the bound " << bound << "; worst at " << worst << ": got "
      << static_cast<double>(actual[worst]) << ", expected " << expected[worst];
  return {false, out.str()};
}

template <class T>
Comparison compare_bits(const T* actual, const T* expected, int64_t size) {
  int64_t misses = 0, first = -1;
  for (int64_t i = 0; i < size; ++i) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(T)) == 0) continue;
    if (misses++ == 0) first = i;
  }
  if (misses == 0) return {};
  std::ostringstream out;
  out.precision(17);
  out << misses << " of " << size << " differ in their bits; first at " << first << ": got " << actual[first]
      << ", expected " << expected[first];
  return {false, out.str()};
}

}  // namespace

Comparison within(const float* a, const double* e, int64_t n, double bound) { return compare_within(a, e, n, bound); }
Comparison within(const double* a, const double* e, int64_t n, double bound) { return compare_within(a, e, n, bound); }
Comparison same_bits(const float* a, const float* e, int64_t n) { return compare_bits(a, e, n); }
Comparison same_bits(const double* a, const double* e, int64_t n) { return compare_bits(a, e, n); }

}  // namespace longspan::testing
