#include "longspan/models/positions.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace longspan::models {

at::Tensor ranks(int64_t batch, int64_t length, const at::Tensor& start, const std::optional<at::Tensor>& valid,
                 const std::optional<at::Tensor>& cu_seqlens) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  at::Tensor out = at::arange(length, options).unsqueeze(0).expand({batch, length});
  if (valid) out = valid->to(at::kLong).cumsum(1) - 1;
  if (cu_seqlens) {
    const at::Tensor cu = cu_seqlens->to(at::kLong);
    const at::Tensor sizes = cu.slice(0, 1) - cu.slice(0, 0, cu.size(0) - 1);
    out = out - cu.slice(0, 0, cu.size(0) - 1).repeat_interleave(sizes).unsqueeze(0);
  }
  if (start.defined()) out = out + start.unsqueeze(1);
  return valid ? out.masked_fill(valid->logical_not(), 0) : out;
}

at::Tensor sinusoidal(const at::Tensor& positions, int64_t width, at::ScalarType dtype) {
  const int64_t half = width / 2;
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const double step = -std::log(10000.0) / static_cast<double>(std::max<int64_t>(half - 1, 1));
  const at::Tensor angles = positions.to(at::kDouble).unsqueeze(-1) * at::arange(half, options).mul(step).exp();
  std::vector<at::Tensor> parts = {angles.sin(), angles.cos()};
  if (width % 2) parts.push_back(at::zeros_like(positions, options).unsqueeze(-1));
  return at::cat(parts, -1).to(dtype);
}

}  // namespace longspan::models
