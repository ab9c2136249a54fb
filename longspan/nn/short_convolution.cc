#include "longspan/nn/short_convolution.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "longspan/nn/packing.h"

namespace longspan::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using torch::autograd::Variable;

/// rows [B, taps - 1 + N, C], weight [taps, C] -> [B, N, C]. Composed operators would make a tensor of zeros as long as
/// the rows for the gradient of every tap.
class Taps : public torch::autograd::Function<Taps> {
 public:
  static Variable forward(AutogradContext* ctx, const Variable& rows, const Variable& weight) {
    ctx->save_for_backward({rows, weight});
    const int64_t reach = weight.size(0) - 1, length = rows.size(1) - reach;
    at::Tensor out = rows.narrow(1, reach, length) * weight[reach];
    for (int64_t i = reach - 1; i >= 0; --i) out.addcmul_(rows.narrow(1, i, length), weight[i]);
    return out;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &rows = saved[0], &weight = saved[1], &dout = grads[0];
    if (!dout.defined()) return tensor_list(2);
    const int64_t taps = weight.size(0), length = dout.size(1);
    at::Tensor drows = at::zeros_like(rows);
    std::vector<at::Tensor> dweight;
    for (int64_t i = 0; i < taps; ++i) {
      drows.narrow(1, i, length).addcmul_(dout, weight[i]);
      dweight.push_back((dout * rows.narrow(1, i, length)).sum({0, 1}));
    }
    return {drows, at::stack(dweight)};
  }
};

}  // namespace

ShortConvolution::ShortConvolution(torch::nn::Module& owner, const std::string& name, int64_t heads, int64_t width,
                                   int64_t taps)
    : name_(name), width_(width) {
  const double limit = 1 / std::sqrt(static_cast<double>(taps));
  weight_ = owner.register_parameter(name, torch::empty({heads * width, 1, taps}).uniform_(-limit, limit));
}

void ShortConvolution::start_as_mean_of_two() {
  const at::NoGradGuard no_grad;
  const int64_t newest = std::min<int64_t>(2, weight_.size(2));
  weight_.zero_();
  weight_.narrow(2, weight_.size(2) - newest, newest).fill_(1.0 / static_cast<double>(newest));
}

at::Tensor ShortConvolution::along(const at::Tensor& past, const at::Tensor& x, const std::optional<at::Tensor>& cu,
                                   at::Tensor* after) const {
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor weight = weight_.squeeze(1).t().to(wide);
  if (const int64_t shared = x.size(2) / weight.size(1); shared > 1)
    weight = weight.unflatten(1, {-1, width_}).repeat_interleave(shared, 1).flatten(1);
  weight = weight.contiguous();
  const auto convolve = [&](const at::Tensor& rows) { return Taps::apply(rows.to(wide), weight).to(x.scalar_type()); };
  const at::Tensor before = past.to(x.scalar_type());
  if (!cu) {
    const at::Tensor rows = at::cat({before, x}, 1);
    // A view would keep all rows alive.
    if (after != nullptr) *after = rows.narrow(1, x.size(1), reach()).clone(at::MemoryFormat::Contiguous);
    return convolve(rows);
  }
  // Every sequence behind its past, one after the other; outputs at rows of the past are dropped.
  const std::vector<int64_t> starts = borders(*cu);
  const int64_t sequences = before.size(0), width = x.size(2);
  std::vector<int64_t> order, kept, last;
  for (int64_t s = 0; s < sequences; ++s) {
    for (int64_t i = 0; i < reach(); ++i) order.push_back(s * reach() + i);
    for (int64_t t = starts[s]; t < starts[s + 1]; ++t) {
      kept.push_back(static_cast<int64_t>(order.size()) - reach());  // as outputs count, which begin `reach` later
      order.push_back(sequences * reach() + t);
    }
    for (int64_t i = 0; i < reach(); ++i) last.push_back(static_cast<int64_t>(order.size()) - reach() + i);
  }
  const auto device = x.device();
  const at::Tensor all = at::cat({before.reshape({sequences * reach(), width}), x.squeeze(0)}, 0);
  const at::Tensor rows = all.index_select(0, index_tensor(order).to(device));
  if (after != nullptr) *after = rows.index_select(0, index_tensor(last).to(device)).view({sequences, reach(), width});
  if (kept.empty()) return x;
  return convolve(rows.unsqueeze(0)).index_select(1, index_tensor(kept).to(device));
}

at::Tensor ShortConvolution::forward(const at::Tensor& x, const std::optional<at::Tensor>& cu) const {
  const int64_t sequences = cu ? cu->numel() - 1 : x.size(0);
  return along(at::zeros({sequences, reach(), x.size(2)}, x.options()), x, cu, nullptr);
}

at::Tensor ShortConvolution::extend(State& next, const at::Tensor& x, const std::optional<at::Tensor>& cu) const {
  at::Tensor after;
  const at::Tensor out = along(next.at(name_), x, cu, &after);
  next.set(name_, after);
  return out;
}

void ShortConvolution::describe(StateLayout& layout) const { layout[name_] = {.sizes = {reach(), weight_.size(0)}}; }

}  // namespace longspan::nn
