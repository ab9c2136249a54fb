// The backend `reference`: the definition of docs/ops/diffusion.md with the full matrix A of each sequence. Exact,
// differentiable any number of times; quadratic in time and memory. Reads seed and positions on the host.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <vector>

#include "longspan/base/diffusion_seeds.h"
#include "longspan/ops/common/load_dropout.h"
#include "longspan/ops/diffusion/aten_forms.h"

namespace longspan::ops::diffuse {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The pairs of the queries from first_row on, [N, n] bool.
at::Tensor dense_mask(const PatternView& pattern, int64_t first_row) {
  const at::Tensor out = at::zeros({pattern.n - first_row, pattern.n}, at::kBool);
  bool* const data = out.mutable_data_ptr<bool>();
  for (int64_t i = first_row; i < pattern.n; ++i)
    for_each_run(pattern, i, [&](PatternPiece, int64_t begin, int64_t end) {
      std::fill(data + (i - first_row) * pattern.n + begin, data + (i - first_row) * pattern.n + end, true);
    });
  return out;
}

class DenseAttention final : public Attention {
 public:
  DenseAttention(const Call& call, const Options& options) : call_(call), options_(options) {
    at::Tensor meet = dense_mask(*call.pattern, call.first_row).to(call.q.device());
    at::Tensor scores = at::matmul(call.q, call.k.transpose(-2, -1));
    if (call.valid.defined()) {
      const int64_t batch = call.q.size(0), rows = call.q.size(2), n = call.k.size(2);
      const at::Tensor both = call.valid.narrow(1, call.first_row, rows)
                                  .view({batch, 1, rows, 1})
                                  .logical_and(call.valid.view({batch, 1, 1, n}));
      if (options.padding == "remove")
        meet = meet.logical_and(both);
      else
        scores = scores.masked_fill(both.logical_not(), kInvalidScore);
    }
    const at::Tensor outside = meet.logical_not();
    scores = scores.masked_fill(outside, -kInfinity);
    at::Tensor largest = scores.detach().amax(-1, /*keepdim=*/true);
    largest = largest.masked_fill(largest == -kInfinity, 0);
    const at::Tensor numerators = at::exp(scores - largest).masked_fill(outside, 0);
    const at::Tensor sum = numerators.sum(-1, /*keepdim=*/true);
    weights_ = numerators / sum.masked_fill(sum == 0, 1);
    lse_ = (largest + at::log(sum.detach())).squeeze(-1);
    if (options.attention_dropout == 0) return;
    const int64_t masks = options.dropout_mode == "once" ? 1 : (call.coefficients.size(1) - 1) / 2;
    for (int64_t hop = 0; hop < masks; ++hop) dropped_.push_back(weights_ * kept(hop));
  }

  at::Tensor mix(const at::Tensor& z, int64_t hop) const override {
    if (dropped_.empty()) return at::matmul(weights_, z);
    return at::matmul(dropped_[options_.dropout_mode == "once" ? 0 : static_cast<std::size_t>(hop)], z);
  }
  at::Tensor lse() const override { return lse_; }

 private:
  /// 1 / (1 - p) where dropout keeps a weight, 0 where it does not.
  at::Tensor kept(int64_t hop) const {
    Dropout dropout = load_dropout(options_.attention_dropout, options_.dropout_seed);
    dropout.seed = diffusion_attention_seed(dropout.seed, hop);
    const at::Tensor row = call_.row.to(at::kCPU), position = call_.position.to(at::kCPU);
    const int64_t batch = call_.q.size(0), heads = call_.q.size(1), rows = call_.q.size(2), n = call_.k.size(2);
    const at::Tensor factors = at::empty({batch, heads, rows, n}, at::kDouble);
    double* factor = factors.mutable_data_ptr<double>();
    const auto rows_of = row.accessor<int64_t, 1>();
    const auto at = position.accessor<int64_t, 2>();
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = n - rows; i < n; ++i)
          for (int64_t j = 0; j < n; ++j)
            *factor++ = dropout.keeps(rows_of[b], h, at[b][i], at[b][j]) ? dropout.scale() : 0;
    return factors.to(call_.q.options());
  }

  Call call_;
  const Options& options_;
  at::Tensor weights_, lse_;
  std::vector<at::Tensor> dropped_;
};

}  // namespace

std::unique_ptr<Attention> reference_attention(const Call& call, const Options& options) {
  return std::make_unique<DenseAttention>(call, options);
}

}  // namespace longspan::ops::diffuse
