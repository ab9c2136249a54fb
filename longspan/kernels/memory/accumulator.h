// Sums of an accumulator outside the vector code.
#pragma once

#include <cstdint>

#include "longspan/kernels/memory/memory.h"

namespace longspan::kernels::memory {

/// a + b = sum + error exactly (Knuth).
inline float two_sum(float a, float b, float& error) {
  const float sum = a + b, from_b = sum - a;
  error = (a - (sum - from_b)) + (b - from_b);
  return sum;
}

/// sums [words][sums_stride] += x [words][x_stride], for `size` sums.
inline void add_sums(Accumulator kind, int64_t size, double* sums, int64_t sums_stride, const double* x,
                     int64_t x_stride) {
  for (int64_t i = 0; i < size; ++i) {
    if (kind == Accumulator::float64) {
      sums[i] += x[i];
    } else if (kind == Accumulator::float32) {
      sums[i] = static_cast<float>(sums[i]) + static_cast<float>(x[i]);
    } else {
      float error;
      sums[i] = two_sum(static_cast<float>(sums[i]), static_cast<float>(x[i]), error);
      double& correction = sums[sums_stride + i];
      correction = static_cast<float>(correction) + (static_cast<float>(x[x_stride + i]) + error);
    }
  }
}

/// (closed + open) inverse for sum i of [words][stride], the bits of the vector code.
inline double mean_of(Accumulator kind, const double* closed, const double* open, int64_t stride, int64_t i,
                      double inverse) {
  if (kind == Accumulator::float32) return (static_cast<float>(open[i]) + static_cast<float>(closed[i])) * inverse;
  const double sums = open[i] + closed[i];
  if (kind == Accumulator::float64) return sums * inverse;
  return (sums + (open[stride + i] + closed[stride + i])) * inverse;
}

/// The float64 reciprocals of the counts behind `rows` rows, the first one at position `count`; with a window only
/// behind the last row of one, else 0.
inline void inverse_counts(int64_t rows, int64_t count, int64_t window, double* inverse) {
  for (int64_t t = 0; t < rows; ++t) {
    const int64_t behind = count + t + 1;
    inverse[t] = window == 0 || behind % window == 0 ? 1.0 / static_cast<double>(behind) : 0.0;
  }
}

}  // namespace longspan::kernels::memory
