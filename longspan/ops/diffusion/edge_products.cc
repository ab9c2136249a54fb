#include "longspan/ops/diffusion/edge_products.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

namespace longspan::ops::diffuse {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor edge_spread(const at::Tensor& weights, const at::Tensor& rows, const at::Tensor& keys, int64_t n);

at::Tensor column(const at::Tensor& weights, int64_t slot) { return weights.select(-1, slot).unsqueeze(-1); }

class Score : public torch::autograd::Function<Score> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& rows, const at::Tensor& k, const at::Tensor& keys) {
    ctx->save_for_backward({rows, k, keys});
    std::vector<at::Tensor> slots;
    for (const at::Tensor& key : keys.unbind(0)) slots.push_back((rows * k.index_select(-2, key)).sum(-1));
    return at::stack(slots, -1);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &rows = saved[0], &k = saved[1], &keys = saved[2];
    return {edge_mix(grads[0], k, keys), edge_spread(grads[0], rows, keys, k.size(-2)), at::Tensor()};
  }
};

class Mix : public torch::autograd::Function<Mix> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weights, const at::Tensor& z,
                            const at::Tensor& keys) {
    ctx->save_for_backward({weights, z, keys});
    std::vector<int64_t> sizes = z.sizes().vec();
    sizes[sizes.size() - 2] = keys.size(1);
    at::Tensor sum = at::zeros(sizes, z.options());
    for (int64_t slot = 0; slot < keys.size(0); ++slot)
      sum.addcmul_(column(weights, slot), z.index_select(-2, keys[slot]));
    return sum;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &weights = saved[0], &z = saved[1], &keys = saved[2];
    return {edge_scores(grads[0], z, keys), edge_spread(weights, grads[0], keys, z.size(-2)), at::Tensor()};
  }
};

/// The mirror of Mix: to each key the sum of weights [.., V, S] times rows [.., V, W] over the lists that have it,
/// [.., n, W].
class Spread : public torch::autograd::Function<Spread> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weights, const at::Tensor& rows,
                            const at::Tensor& keys, int64_t n) {
    ctx->save_for_backward({weights, rows, keys});
    std::vector<int64_t> sizes = rows.sizes().vec();
    sizes[sizes.size() - 2] = n;
    at::Tensor sum = at::zeros(sizes, rows.options());
    for (int64_t slot = 0; slot < keys.size(0); ++slot) sum.index_add_(-2, keys[slot], column(weights, slot) * rows);
    return sum;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &weights = saved[0], &rows = saved[1], &keys = saved[2];
    return {edge_scores(rows, grads[0], keys), edge_mix(weights, grads[0], keys), at::Tensor(), at::Tensor()};
  }
};

at::Tensor edge_spread(const at::Tensor& weights, const at::Tensor& rows, const at::Tensor& keys, int64_t n) {
  return Spread::apply(weights, rows, keys, n);
}

}  // namespace

at::Tensor edge_scores(const at::Tensor& rows, const at::Tensor& k, const at::Tensor& keys) {
  return Score::apply(rows, k, keys);
}

at::Tensor edge_mix(const at::Tensor& weights, const at::Tensor& z, const at::Tensor& keys) {
  return Mix::apply(weights, z, keys);
}

}  // namespace longspan::ops::diffuse
