// Products over single pairs, in ATen operators: lists of S keys for each of V rows. A loop over S takes one key of
// every row at a time, forward and backward, so that nothing of the size of pairs x width stands at any time.
#pragma once

#include <ATen/core/Tensor.h>

namespace longspan::ops::diffuse {

/// keys [S, V] int64: numbers of rows of k and z, any where a list is shorter (the caller takes these out again).
/// rows [.., V, D] times k [.., n, D]: [.., V, S]. Differentiable any number of times.
at::Tensor edge_scores(const at::Tensor& rows, const at::Tensor& k, const at::Tensor& keys);
/// Sums over the lists of weights [.., V, S] times z [.., n, W]: [.., V, W]. Differentiable any number of times.
at::Tensor edge_mix(const at::Tensor& weights, const at::Tensor& z, const at::Tensor& keys);

}  // namespace longspan::ops::diffuse
