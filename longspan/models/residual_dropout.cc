#include "longspan/models/residual_dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "longspan/base/dropout.h"
#include "longspan/ops/parallel.h"

namespace longspan::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kRowsPerTask = 64;

/// What every element of `out` [rows, width] is multiplied by: 0 or 1 / (1 - probability).
template <class T>
void fill(T* data, int64_t rows, int64_t width, const Dropout& dropout, int64_t first_token) {
  const uint32_t threshold = dropout.threshold();
  const auto scale = static_cast<T>(dropout.scale());
  ops::torch_parallel().run((rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task, int) {
    for (int64_t row = task * kRowsPerTask; row < std::min(rows, (task + 1) * kRowsPerTask); ++row) {
      const auto token = static_cast<uint64_t>(first_token + row);
      for (int64_t begin = 0; begin < width; begin += 4) {
        const auto words = dropout.words(static_cast<uint32_t>(token >> 32), 0, static_cast<uint32_t>(token),
                                         static_cast<uint32_t>(begin / 4));
        const int64_t size = std::min<int64_t>(4, width - begin);
        for (int64_t i = 0; i < size; ++i) data[row * width + begin + i] = words[i] >= threshold ? scale : 0;
      }
    }
  });
}

/// The factors of all elements of `like` [..., E], float64 beside float64 and float32 beside everything else.
at::Tensor factors(const at::Tensor& like, const Dropout& dropout, int64_t first_token) {
  const bool wide = like.scalar_type() == at::kDouble;
  const at::Tensor out = at::empty(like.sizes(), wide ? at::kDouble : at::kFloat);
  if (out.numel() == 0) return out.to(like.device());
  const int64_t width = out.size(-1), rows = out.numel() / width;
  if (wide)
    fill(out.mutable_data_ptr<double>(), rows, width, dropout, first_token);
  else
    fill(out.mutable_data_ptr<float>(), rows, width, dropout, first_token);
  return out.to(like.device());
}

struct AddWithDropout : torch::autograd::Function<AddWithDropout> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& branch, double probability,
                            int64_t seed, int64_t first_token) {
    context->saved_data["probability"] = probability;
    context->saved_data["seed"] = seed;
    context->saved_data["first_token"] = first_token;
    context->saved_data["dtype"] = branch.scalar_type();
    const Dropout dropout{probability, static_cast<uint64_t>(seed)};
    return factors(x, dropout, first_token).mul(branch).to(x.scalar_type()).add_(x);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    if (!grads[0].defined()) return variable_list(5);
    const Dropout dropout{context->saved_data["probability"].toDouble(),
                          static_cast<uint64_t>(context->saved_data["seed"].toInt())};
    const at::Tensor kept = factors(grads[0], dropout, context->saved_data["first_token"].toInt());
    const at::Tensor dbranch = (grads[0] * kept).to(context->saved_data["dtype"].toScalarType());
    return {grads[0], dbranch, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor add_with_dropout(const at::Tensor& x, const at::Tensor& branch, double probability, const DropoutKey& key) {
  return AddWithDropout::apply(x, branch, probability, static_cast<int64_t>(key.seed), key.first_token);
}

at::Tensor with_dropout(const at::Tensor& x, double probability, const DropoutKey& key) {
  return add_with_dropout(at::zeros_like(x), x, probability, key);
}

}  // namespace longspan::models
