// Rotary position encoding.
#pragma once

#include <optional>

#include "longspan/nn/attention.h"
#include "longspan/nn/pch.h"

namespace longspan::nn {

/// Angles of positions: the half-split pairing (channel i with i + D / 2, pair i turned by position * base^(-2i / D)).
struct Rotary {
  at::Tensor cosine, sine;  ///< [..., D / 2], float32, or float64 where the rows are

  /// `positions` int64, [T] or as positions_of_rows() gives them; dtype and device are those of the rows to be turned.
  /// Angles are computed in float64: in float32 an angle of 100,000 radians is known to 0.004 only.
  Rotary(const at::Tensor& positions, int64_t width, double base, const at::TensorOptions& options);

  /// rows [B, H, T, D] -> the same shape and dtype.
  at::Tensor turn(const at::Tensor& rows) const;
};

/// The rotary positions of a module's tokens x [B, N, E]: their ranks in their sequences (`cu`, or the whole row), from
/// `start` [B] on. Leaves everything as it is where sizes.rotary_base is 0.
class RotaryPositions {
 public:
  RotaryPositions(const AttentionSizes& sizes, const at::Tensor& x, const std::optional<at::Tensor>& cu,
                  const at::Tensor& start = {});
  at::Tensor turn(const at::Tensor& rows) const { return rotary_ ? rotary_->turn(rows) : rows; }

 private:
  std::optional<Rotary> rotary_;
};

}  // namespace longspan::nn
