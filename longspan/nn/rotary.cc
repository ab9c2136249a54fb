#include "longspan/nn/rotary.h"

#include <cmath>

#include "longspan/nn/packing.h"

namespace longspan::nn {

Rotary::Rotary(const at::Tensor& positions, int64_t width, double base, const at::TensorOptions& options) {
  const auto real = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor frequencies =
      (at::arange(width / 2, real) * (-2.0 * std::log(base) / static_cast<double>(width))).exp();
  const at::Tensor angles = positions.to(at::kDouble).unsqueeze(-1) * frequencies;
  const auto table = options.dtype(options.dtype() == at::kDouble ? at::kDouble : at::kFloat);
  cosine = angles.cos().to(table);
  sine = angles.sin().to(table);
}

at::Tensor Rotary::turn(const at::Tensor& rows) const {
  const auto halves = rows.chunk(2, -1);
  const at::Tensor &a = halves[0], &b = halves[1];
  return at::cat({a * cosine - b * sine, a * sine + b * cosine}, -1).to(rows.scalar_type());
}

RotaryPositions::RotaryPositions(const AttentionSizes& sizes, const at::Tensor& x, const std::optional<at::Tensor>& cu,
                                 const at::Tensor& start) {
  if (sizes.rotary_base > 0)
    rotary_.emplace(positions_of_rows(x.size(1), cu, start), sizes.head_width(), sizes.rotary_base, x.options());
}

}  // namespace longspan::nn
