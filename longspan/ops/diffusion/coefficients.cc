// The kinds of diffusion as numbers of the recursion.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "longspan/ops/common/check.h"
#include "longspan/ops/diffusion/check.h"
#include "longspan/ops/diffusion/dispatch.h"

namespace longspan::ops {
namespace {

constexpr const char* kOp = "diffusion_coefficients";
constexpr int64_t kMostHops = 1 << 20;

/// alpha or t as [1 or H] float64.
at::Tensor of_heads(const char* name, const std::optional<at::Tensor>& given, double otherwise, double most) {
  if (!given) return at::full({1}, otherwise, at::kDouble);
  TORCH_CHECK_VALUE(given->dim() <= 1 && at::isFloatingType(given->scalar_type()), kOp, ": ", name,
                    ": expected a floating point tensor [H] or without dimensions, got ", dtype_name(*given), " ",
                    given->sym_sizes());
  if (given->is_cpu() && has_values(*given)) {
    const at::Tensor values = given->detach().to(at::kDouble).reshape(-1);
    for (int64_t h = 0; h < values.numel(); ++h) {
      const double value = values[h].item<double>();
      TORCH_CHECK_VALUE(value >= 0 && value <= most && std::isfinite(value), kOp, ": ", name, ": expected ",
                        std::isfinite(most) ? "numbers from 0 to 1" : "finite numbers of 0 or more", ", got ", value);
    }
  }
  return given->to(at::kDouble).reshape(-1);
}

/// From theta_0 .. theta_K, each [R], to those of Horner's rule: Z = theta_K V, then Z = A Z + theta_k V, k = K-1 .. 0.
at::Tensor horner(const std::vector<at::Tensor>& theta) {
  std::vector<at::Tensor> out = {theta.back()};
  for (std::size_t k = theta.size() - 1; k-- > 0;) {
    out.push_back(at::ones_like(theta[k]));
    out.push_back(theta[k]);
  }
  return at::stack(out, 1);
}

/// weight_0 .. weight_K with weight_0 = 1 and weight_k = weight_{k-1} ratio(k), divided by their sum. The weights
/// themselves may be beyond all numbers, so only shares are formed: weight_k of weight_0 + .. + weight_k.
template <class Ratio>
at::Tensor normalised_series(const at::Tensor& one, int64_t hops, const Ratio& ratio) {
  std::vector<at::Tensor> theta = {one}, left = {one};  // left: what the sum so far is of the sum with weight_k
  for (int64_t k = 1; k <= hops; ++k) {
    const at::Tensor added = theta.back() * ratio(k);
    left.push_back(1 / (1 + added));
    theta.push_back(added / (1 + added));
  }
  at::Tensor scale = one;
  for (std::size_t k = theta.size(); k-- > 0;) {
    theta[k] = theta[k] * scale;
    scale = scale * left[k];
  }
  return horner(theta);
}

}  // namespace

at::Tensor diffusion_coefficients(DiffusionKind kind, int64_t hops, const std::optional<at::Tensor>& alpha,
                                  const std::optional<at::Tensor>& t, const std::optional<at::Tensor>& logits) {
  TORCH_CHECK_VALUE(hops >= 0 && hops <= kMostHops, kOp, ": hops: expected a number from 0 to ", kMostHops, ", got ",
                    hops);
  const bool ppr = kind == DiffusionKind::ppr_iterate || kind == DiffusionKind::ppr_truncated;
  TORCH_CHECK_VALUE(!alpha || ppr, kOp, ": alpha: expected none but for the ppr kinds, got one");
  TORCH_CHECK_VALUE(!t || kind == DiffusionKind::heat, kOp, ": t: expected none but for heat, got one");
  TORCH_CHECK_VALUE(logits.has_value() == (kind == DiffusionKind::learned), kOp, ": logits: expected ",
                    logits ? "none but for learned, got one" : "for learned, got none");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case DiffusionKind::ppr_iterate: {
      const at::Tensor a = of_heads("alpha", alpha, 0.1, 1), carry = 1 - a;
      std::vector<at::Tensor> out = {at::ones_like(a)};
      for (int64_t k = 0; k < hops; ++k) {
        out.push_back(carry);
        out.push_back(a);
      }
      return at::stack(out, 1);
    }
    case DiffusionKind::ppr_truncated: {
      // alpha (1 - alpha)^k / (1 - (1 - alpha)^{K+1}), as a form that alpha = 0 has too.
      const at::Tensor a = of_heads("alpha", alpha, 0.1, 1), carry = 1 - a;
      return normalised_series(at::ones_like(a), hops, [&](int64_t) { return carry; });
    }
    case DiffusionKind::heat: {
      const at::Tensor time = of_heads("t", t, 3, kInfinity);
      return normalised_series(at::ones_like(time), hops, [&](int64_t k) { return time / static_cast<double>(k); });
    }
    case DiffusionKind::single: {
      const at::Tensor one = at::ones({1}, at::kDouble);
      return at::stack({one, one, at::zeros_like(one)}, 1);
    }
    case DiffusionKind::learned: {
      check_dims(kOp, "logits", *logits, 2, "[H, K + 1] or [1, K + 1]");
      check_floating(kOp, "logits", *logits);
      TORCH_CHECK_VALUE(logits->sym_size(1) == hops + 1, kOp, ": logits: expected [H, K + 1 = ", hops + 1,
                        "] or [1, K + 1], got ", logits->sym_sizes());
      return horner(at::softmax(logits->to(at::kDouble), 1).unbind(1));
    }
  }
  TORCH_INTERNAL_ASSERT(false, "kind of diffusion");
}

at::Tensor diffusion_polynomial(const at::Tensor& coefficients) {
  const int64_t hops = coefficients.size(1) / 2;
  // Of the states, hop by hop: Z_{k+1} = carry Z_k + source V moves every weight on by one.
  at::Tensor polynomial = at::constant_pad_nd(coefficients.narrow(1, 0, 1), {0, hops});
  for (int64_t hop = 0; hop < hops; ++hop) {
    polynomial = polynomial.roll(1, 1) * coefficients.narrow(1, 2 * hop + 1, 1);
    polynomial = polynomial + at::constant_pad_nd(coefficients.narrow(1, 2 * hop + 2, 1), {0, hops});
  }
  return polynomial;
}

namespace diffuse {
namespace {

DiffusionKind kind_of(std::string_view name) {
  static constexpr std::pair<std::string_view, DiffusionKind> kKinds[] = {
      {"ppr_iterate", DiffusionKind::ppr_iterate},
      {"ppr_truncated", DiffusionKind::ppr_truncated},
      {"heat", DiffusionKind::heat},
      {"single", DiffusionKind::single},
      {"learned", DiffusionKind::learned},
  };
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  TORCH_CHECK_VALUE(false,
                    "diffusion_coefficients: kind: expected ppr_iterate, ppr_truncated, heat, single or learned, "
                    "got ",
                    name);
}

at::Tensor coefficients(std::string_view kind, int64_t hops, const OptionalTensor& alpha, const OptionalTensor& t,
                        const OptionalTensor& logits) {
  return diffusion_coefficients(kind_of(kind), hops, alpha, t, logits);
}

}  // namespace
}  // namespace diffuse
}  // namespace longspan::ops

TORCH_LIBRARY_IMPL(longspan, CompositeImplicitAutograd, m) {
  m.impl("diffusion_coefficients", TORCH_FN(longspan::ops::diffuse::coefficients));
}
