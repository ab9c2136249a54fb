// Rotary position encoding.
#pragma once

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// Angles of positions: the half-split pairing (channel i with i + D / 2, pair i turned by position * base^(-2i / D)).
struct Rotary {
  at::Tensor cosine, sine;  ///< [T, D / 2], float32, or float64 where the rows are

  /// `positions` [T] int64; `dtype` and device are those of the rows to be turned. Angles are computed in float64: in
  /// float32 an angle of 100,000 radians is known to 0.004 only.
  Rotary(const at::Tensor& positions, int64_t width, double base, const at::TensorOptions& options);

  /// rows [B, H, T, D] -> the same shape and dtype.
  at::Tensor turn(const at::Tensor& rows) const;
};

}  // namespace longspan::nn
