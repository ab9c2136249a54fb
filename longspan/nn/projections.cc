#include "longspan/nn/projections.h"

#include <cmath>

namespace longspan::nn {

torch::nn::Linear make_linear(torch::nn::Module& owner, const std::string& name, int64_t from, int64_t to, bool bias,
                              double gain) {
  auto out = owner.register_module(name, torch::nn::Linear(torch::nn::LinearOptions(from, to).bias(bias)));
  const at::NoGradGuard no_grad;
  const double limit = gain * std::sqrt(6.0 / static_cast<double>(from + to));
  out->weight.uniform_(-limit, limit);
  if (bias) out->bias.zero_();
  return out;
}

Projections::Projections(torch::nn::Module& owner, const AttentionSizes& sizes, Pattern pattern, SourceMaps maps)
    : head_width_(sizes.head_width()) {
  const int64_t width = sizes.width, key_width = sizes.key_heads() * head_width_;
  const int64_t from = is_cross(pattern) && sizes.source_width > 0 ? sizes.source_width : width;
  const double gain = kInputGain;
  q_ = make_linear(owner, "q", width, width, sizes.bias, gain);
  if (maps.keys) k_ = make_linear(owner, "k", from, key_width, sizes.bias, gain);
  if (maps.values) v_ = make_linear(owner, "v", from, key_width, sizes.bias, gain);
  if (maps.memory) memory_ = make_linear(owner, "memory", from, key_width, sizes.bias, gain);
  if (maps.addresses) {
    memory_q_ = make_linear(owner, "memory_q", width, width, sizes.bias, gain);
    memory_k_ = make_linear(owner, "memory_k", from, key_width, sizes.bias, gain);
  }
  out_ = make_linear(owner, "out", width, width, sizes.bias, 1.0);
}

at::Tensor Projections::split(const at::Tensor& rows) const {
  return rows.unflatten(2, {-1, head_width_}).transpose(1, 2);
}

at::Tensor Projections::queries(const at::Tensor& x) { return split(q_->forward(x)); }
at::Tensor Projections::keys(const at::Tensor& x) { return split(k_->forward(x)); }
at::Tensor Projections::values(const at::Tensor& x) { return split(v_->forward(x)); }
at::Tensor Projections::memory(const at::Tensor& x) { return split(memory_->forward(x)); }
at::Tensor Projections::memory_queries(const at::Tensor& x) { return split(memory_q_->forward(x)); }
at::Tensor Projections::memory_keys(const at::Tensor& x) { return split(memory_k_->forward(x)); }

void Projections::tie_addresses() {
  const at::NoGradGuard no_grad;
  const at::Tensor &to = memory_q_->weight, &from = memory_k_->weight;
  const int64_t shared = to.size(0) / from.size(0);
  to.copy_(from.unflatten(0, {-1, head_width_}).repeat_interleave(shared, 0).flatten(0, 1));
}

at::Tensor Projections::merge(const at::Tensor& heads) {
  const int64_t width = heads.size(1) * heads.size(3);
  return out_->forward(heads.transpose(1, 2).reshape({heads.size(0), heads.size(2), width}));
}

}  // namespace longspan::nn
