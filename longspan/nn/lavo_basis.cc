#include "longspan/nn/lavo_basis.h"

#include <ATen/CPUGeneratorImpl.h>

#include <limits>

namespace longspan::nn {
namespace {

/// Columns [..., D, R] -> gain * qf(columns)^T [..., R, D]; sign(0) = +1.
at::Tensor orthogonal_rows(const at::Tensor& columns, double gain) {
  const auto [q, r] = at::linalg_qr(columns, "reduced");
  const at::Tensor diagonal = r.diagonal(0, -2, -1);
  const at::Tensor signs = at::where(diagonal < 0, -at::ones_like(diagonal), at::ones_like(diagonal));
  return (q * signs.unsqueeze(-2)).transpose(-1, -2) * gain;
}

}  // namespace

at::Tensor make_basis(int64_t bases, int64_t slots, int64_t width, double gain) {
  std::vector<at::Tensor> normals;
  for (int64_t b = 0; b < bases; ++b) {
    const int64_t seed = at::randint(std::numeric_limits<int64_t>::max(), {1}, at::kLong).item<int64_t>();
    normals.push_back(at::randn({width, slots}, at::detail::createCPUGenerator(static_cast<uint64_t>(seed)),
                                at::TensorOptions().dtype(at::kDouble)));
  }
  return orthogonal_rows(at::stack(normals), gain).contiguous().to(torch::get_default_dtype());
}

void retract_basis(at::Tensor& basis, double gain) {
  const at::NoGradGuard no_grad;
  basis.copy_(orthogonal_rows(basis.to(at::kDouble).transpose(-1, -2), gain));
}

}  // namespace longspan::nn
