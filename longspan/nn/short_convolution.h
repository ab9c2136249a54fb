// A short causal convolution along a sequence, one filter a channel.
#pragma once

#include <optional>
#include <string>

#include "longspan/nn/pch.h"
#include "longspan/nn/state.h"

namespace longspan::nn {

/// y_t[c] = sum over i < taps of weight[c, 0, taps - 1 - i] x_{t - i}[c]: the newest tap stands last. What lies before
/// a sequence is zeros, so positions are ranks in it and sequences of a pack do not see each other.
///
/// 16-bit rows are summed in float32.
class ShortConvolution {
 public:
  ShortConvolution() = default;
  /// Registers the parameter `name` [heads width, 1, taps] in its owner, uniform in +-1 / sqrt(taps). taps >= 1.
  ShortConvolution(torch::nn::Module& owner, const std::string& name, int64_t heads, int64_t width, int64_t taps);

  bool defined() const { return weight_.defined(); }
  /// Starts every channel as the mean of its two newest rows (one tap: as the row itself).
  void start_as_mean_of_two();

  /// x [B, N, C], with `cu` [S + 1] a pack [1, T, C] -> the same shape and dtype. C = heads width, or a multiple: then
  /// groups of heads that stand together in x share the filters of one head.
  at::Tensor forward(const at::Tensor& x, const std::optional<at::Tensor>& cu) const;

  /// The same for streams that go on: `next` holds their last taps - 1 rows under the parameter's name, [B, taps - 1,
  /// C], zeros where a stream is younger, and is moved on. It takes the dtype of x.
  at::Tensor extend(State& next, const at::Tensor& x, const std::optional<at::Tensor>& cu) const;
  /// Adds that tensor to a layout.
  void describe(StateLayout& layout) const;

 private:
  at::Tensor along(const at::Tensor& past, const at::Tensor& x, const std::optional<at::Tensor>& cu,
                   at::Tensor* after) const;
  int64_t reach() const { return weight_.size(2) - 1; }

  std::string name_;
  int64_t width_ = 1;
  at::Tensor weight_;
};

}  // namespace longspan::nn
