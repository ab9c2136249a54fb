// The layers with a delta memory as their definitions say it, row by row in float64: what tests compare them with.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "support.h"

namespace longspan::nn {

/// Of one head: rows q, k [N, R], v [N, D], beta [N], alpha [N], [N, R] or undefined -> o [N, D].
inline at::Tensor plain_memory(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                               const at::Tensor& alpha, bool delta) {
  at::Tensor memory = at::zeros({k.size(1), v.size(1)}, float64()), out = at::zeros_like(v);
  for (int64_t t = 0; t < q.size(0); ++t) {
    if (alpha.defined()) memory = memory * (alpha.dim() == 1 ? alpha[t] : alpha[t].unsqueeze(1));
    const at::Tensor change = delta ? v[t] - at::mv(memory.t(), k[t]) : v[t];
    memory = memory + at::outer(k[t], change) * beta[t];
    out[t] = at::mv(memory.t(), q[t]);
  }
  return out;
}

/// rows [N, C], weight [C, 1, taps], the newest tap last.
inline at::Tensor plain_convolution(const at::Tensor& rows, const at::Tensor& weight) {
  at::Tensor out = at::zeros_like(rows);
  const int64_t taps = weight.size(2);
  for (int64_t t = 0; t < rows.size(0); ++t)
    for (int64_t i = 0; i < taps && i <= t; ++i) out[t] += weight.select(2, taps - 1 - i).squeeze(1) * rows[t - i];
  return out;
}

/// x / |x|, and what the smallest norm is: errors grow by its reciprocal.
inline at::Tensor plain_unit(const at::Tensor& rows, double& smallest) {
  const at::Tensor norm = rows.square().sum(-1, true).sqrt();
  smallest = std::min(smallest, norm.min().item<double>());
  return rows / (norm.square() + 1e-6).sqrt();
}
inline at::Tensor plain_rms(const at::Tensor& rows, double& smallest) {
  const at::Tensor mean = rows.square().mean(-1, true);
  smallest = std::min(smallest, (mean + 1e-5).sqrt().min().item<double>());
  return rows / (mean + 1e-5).sqrt();
}

/// Parameters by name, and maps made of them.
class Weights {
 public:
  explicit Weights(const Attention& module) : parameters_(module.named_parameters()) {}
  bool has(const std::string& name) const { return parameters_.find(name) != nullptr; }
  at::Tensor operator[](const std::string& name) const { return parameters_[name].detach(); }
  at::Tensor map(const std::string& name, const at::Tensor& rows) const {
    at::Tensor out = at::matmul(rows, (*this)[name + ".weight"].t());
    return has(name + ".bias") ? out + (*this)[name + ".bias"] : out;
  }

 private:
  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

/// The columns of head h.
inline at::Tensor head_of(const at::Tensor& rows, int64_t h, int64_t width) { return rows.narrow(1, h * width, width); }

/// Parameters that start at a special value hide faults in the terms that they multiply.
inline void shake(Attention& module, uint64_t seed) {
  const at::NoGradGuard no_grad;
  torch::manual_seed(seed);
  for (auto& parameter : module.named_parameters())
    if (parameter.key() != "basis") parameter.value().add_(at::randn_like(parameter.value()), 0.1);
}

}  // namespace longspan::nn
