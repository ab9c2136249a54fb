#include "diffusion_weights.h"

#include <ATen/ops/scalar_tensor.h>

#include <optional>

#include "longspan/ops/diffusion/diffusion.h"

namespace longspan::tool {

std::vector<HopWeights> diffusion_weights(int64_t hops, double alpha, double t) {
  using ops::DiffusionKind;
  const auto number = [](double value) { return std::optional(at::scalar_tensor(value, at::kDouble)); };
  const auto weights = [&](DiffusionKind kind, const std::optional<at::Tensor>& a,
                           const std::optional<at::Tensor>& time) {
    const at::Tensor theta =
        ops::diffusion_polynomial(ops::diffusion_coefficients(kind, hops, a, time, {})).contiguous();
    return std::vector<double>(theta.const_data_ptr<double>(), theta.const_data_ptr<double>() + theta.numel());
  };
  return {{"ppr_iterate", weights(DiffusionKind::ppr_iterate, number(alpha), {})},
          {"ppr_truncated", weights(DiffusionKind::ppr_truncated, number(alpha), {})},
          {"heat", weights(DiffusionKind::heat, {}, number(t))},
          {"single", weights(DiffusionKind::single, {}, {})}};
}

}  // namespace longspan::tool
