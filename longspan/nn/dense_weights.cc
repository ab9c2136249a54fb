#include "longspan/nn/dense_weights.h"

#include <algorithm>
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

at::Tensor window_weights(const at::Tensor& q, const at::Tensor& k, const at::Tensor& table, int64_t reach_left,
                          int64_t reach_right) {
  const int64_t length = q.size(2), reach = std::max(reach_left, reach_right);
  const at::Tensor position = at::arange(length, q.options().dtype(at::kLong));
  const at::Tensor offset = position.unsqueeze(0) - position.unsqueeze(1);  // of key and query
  at::Tensor bias;
  if (table.defined()) {
    const at::Tensor place = offset.clamp(-reach, reach) + reach;
    bias = table.to(at::kDouble).index_select(1, place.reshape({-1})).view({-1, length, length});
  }
  return dense_weights(q, k, (offset < -reach_left).logical_or(offset > reach_right), bias);
}

}  // namespace longspan::nn
