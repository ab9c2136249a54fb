#include "diffusion_weights.h"

#include <ATen/ops/scalar_tensor.h>

#include <optional>

#include "longspan/ops/diffusion/diffusion.h"

namespace longspan::tool {

namespace {

/// The recursion Z_{k+1} = carry_k A Z_k + source_k V as a polynomial in A.
std::vector<double> polynomial(const at::Tensor& coefficients) {
  const double* c = coefficients.const_data_ptr<double>();
  std::vector<double> theta = {c[0]};
  for (int64_t k = 1; k + 1 < coefficients.numel(); k += 2) {
    for (double& weight : theta) weight *= c[k];
    theta.insert(theta.begin(), c[k + 1]);
  }
  return theta;
}

}  // namespace

std::vector<HopWeights> diffusion_weights(int64_t hops, double alpha, double t) {
  using ops::DiffusionKind;
  const auto number = [](double value) { return std::optional(at::scalar_tensor(value, at::kDouble)); };
  const auto weights = [&](DiffusionKind kind, const std::optional<at::Tensor>& a,
                           const std::optional<at::Tensor>& time) {
    return polynomial(ops::diffusion_coefficients(kind, hops, a, time, {}));
  };
  return {{"ppr_iterate", weights(DiffusionKind::ppr_iterate, number(alpha), {})},
          {"ppr_truncated", weights(DiffusionKind::ppr_truncated, number(alpha), {})},
          {"heat", weights(DiffusionKind::heat, {}, number(t))},
          {"single", weights(DiffusionKind::single, {}, {})}};
}

}  // namespace longspan::tool
