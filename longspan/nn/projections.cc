#include "longspan/nn/projections.h"

#include <cmath>

namespace longspan::nn {
namespace {

torch::nn::Linear linear(torch::nn::Module& owner, const char* name, int64_t from, int64_t to, bool bias, double gain) {
  auto out = owner.register_module(name, torch::nn::Linear(torch::nn::LinearOptions(from, to).bias(bias)));
  const at::NoGradGuard no_grad;
  const double limit = gain * std::sqrt(6.0 / static_cast<double>(from + to));
  out->weight.uniform_(-limit, limit);
  if (bias) out->bias.zero_();
  return out;
}

}  // namespace

Projections::Projections(torch::nn::Module& owner, const AttentionSizes& sizes, Pattern pattern, bool keys)
    : heads_(sizes.heads) {
  const int64_t width = sizes.width;
  const int64_t from = is_cross(pattern) && sizes.source_width > 0 ? sizes.source_width : width;
  const double gain = 1 / std::sqrt(2.0);
  q_ = linear(owner, "q", width, width, sizes.bias, gain);
  if (keys) k_ = linear(owner, "k", from, width, sizes.bias, gain);
  v_ = linear(owner, "v", from, width, sizes.bias, gain);
  out_ = linear(owner, "out", width, width, sizes.bias, 1.0);
}

at::Tensor Projections::split(const at::Tensor& rows) const {
  return rows.view({rows.size(0), rows.size(1), heads_, rows.size(2) / heads_}).transpose(1, 2);
}

at::Tensor Projections::queries(const at::Tensor& x) { return split(q_->forward(x)); }
at::Tensor Projections::keys(const at::Tensor& x) { return split(k_->forward(x)); }
at::Tensor Projections::values(const at::Tensor& x) { return split(v_->forward(x)); }

at::Tensor Projections::merge(const at::Tensor& heads) {
  const int64_t width = heads.size(1) * heads.size(3);
  return out_->forward(heads.transpose(1, 2).reshape({heads.size(0), heads.size(2), width}));
}

}  // namespace longspan::nn
