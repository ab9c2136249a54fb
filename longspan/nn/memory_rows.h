// What stands around a delta memory: norms of its rows, and the gates of its writes.
#pragma once

#include <string>

#include "longspan/nn/pch.h"

namespace longspan::nn {

/// x / sqrt(|x|^2 + 1e-6) over the last dimension: zeros stay zeros. In float32 or wider, then in the dtype of x.
at::Tensor unit_rows(const at::Tensor& x);

/// x / sqrt(mean of x^2 + 1e-5) over the last dimension, in float32 or wider.
at::Tensor rms_rows(const at::Tensor& x);

/// A linear map of the layer's input to a few numbers a head, in float32 or wider whatever computes the map: gates are
/// close to 0 and 1, where 16 bits tell little apart.
///
/// Modules `name` with `weight` [heads each, from] and, where it has one, `bias` [heads each], zeros at the start.
class GateLogits {
 public:
  GateLogits() = default;
  /// weight: Xavier-uniform with this gain.
  GateLogits(torch::nn::Module& owner, const std::string& name, int64_t from, int64_t heads, int64_t each, bool bias,
             double gain);

  bool defined() const { return !map_.is_empty(); }
  /// x [B, N, from] -> [B, H, N], or [B, H, N, each] where `each` was given as more than 0.
  at::Tensor of(const at::Tensor& x) const;
  /// Those of an input of zeros, `length` rows of `batch` sequences: the bias alone, with strides of 0.
  at::Tensor of_nothing(int64_t batch, int64_t length, const at::TensorOptions& options) const;
  const at::Tensor& weight() const { return map_->weight; }
  const at::Tensor& bias() const { return map_->bias; }

 private:
  at::Tensor heads_first(const at::Tensor& rows) const;

  int64_t heads_ = 1, each_ = 0;
  torch::nn::Linear map_{nullptr};
};

}  // namespace longspan::nn
