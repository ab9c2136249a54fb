#include "longspan/nn/dense_weights.h"

#include <cmath>
#include <limits>

#include "longspan/nn/packing.h"

namespace longspan::nn {

at::Tensor dense_weights(const at::Tensor& q, const at::Tensor& k, const at::Tensor& hidden, const at::Tensor& bias) {
  const at::Tensor keys = spread_heads(k.to(at::kDouble), q.size(1));
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  at::Tensor scores = at::matmul(q.to(at::kDouble), keys.transpose(2, 3)) * scale;
  if (bias.defined()) scores = scores + bias;
  if (!hidden.defined()) return scores.softmax(-1);
  // A row without keys is zeros, not the softmax of nothing.
  return scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()).softmax(-1).masked_fill(hidden, 0);
}

}  // namespace longspan::nn
