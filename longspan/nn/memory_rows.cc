#include "longspan/nn/memory_rows.h"

#include <algorithm>

#include "longspan/nn/delta_state.h"
#include "longspan/nn/projections.h"

namespace longspan::nn {

at::Tensor unit_rows(const at::Tensor& x) {
  const at::Tensor wide = x.to(delta_dtype(x.scalar_type()));
  return (wide * (wide.square().sum(-1, true) + 1e-6).rsqrt()).to(x.scalar_type());
}

at::Tensor rms_rows(const at::Tensor& x) {
  const at::Tensor wide = x.to(delta_dtype(x.scalar_type()));
  return wide * (wide.square().mean(-1, true) + 1e-5).rsqrt();
}

GateLogits::GateLogits(torch::nn::Module& owner, const std::string& name, int64_t from, int64_t heads, int64_t each,
                       bool bias, double gain)
    : heads_(heads),
      each_(each),
      map_(make_linear(owner, name, from, heads * std::max<int64_t>(each, 1), bias, gain)) {}

at::Tensor GateLogits::heads_first(const at::Tensor& rows) const {
  return each_ > 0 ? rows.unflatten(2, {heads_, each_}).transpose(1, 2) : rows.transpose(1, 2);
}

at::Tensor GateLogits::of(const at::Tensor& x) const {
  at::Tensor out = at::linear(x, map_->weight);
  out = out.to(delta_dtype(out.scalar_type()));
  if (map_->bias.defined()) out = out + map_->bias.to(out.scalar_type());
  return heads_first(out);
}

at::Tensor GateLogits::of_nothing(int64_t batch, int64_t length, const at::TensorOptions& options) const {
  const auto wide = options.dtype(delta_dtype(c10::typeMetaToScalarType(options.dtype())));
  const at::Tensor bias = map_->bias.defined() ? map_->bias.to(c10::typeMetaToScalarType(wide.dtype()))
                                               : at::zeros({map_->weight.size(0)}, wide);
  return heads_first(bias.expand({batch, length, bias.size(0)}));
}

}  // namespace longspan::nn
