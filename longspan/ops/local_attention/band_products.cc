#include "longspan/ops/local_attention/band_products.h"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>
#include <vector>

namespace longspan::ops::local {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Of key j: the queries i with begin <= i - j < end.
Band transposed(const Band& band) { return {1 - band.end, 1 - band.begin}; }

at::Tensor not_finite(const at::Tensor& x) { return (x - x) != 0; }

/// Whether a row t of `rows` sees a set element of `marks` [.., J, D] in its window: [.., rows, D].
at::Tensor seen(const at::Tensor& marks, const Band& band, const c10::SymInt& rows) {
  const at::Tensor before = at::constant_pad_nd(at::cumsum(marks, -2, at::kInt), {0, 0, 1, 0});
  const at::Tensor row = at::arange(rows, marks.options().dtype(at::kLong));
  const at::Scalar last(marks.sym_size(-2));
  const auto up_to = [&](const c10::SymInt& offset) {
    return before.index_select(-2, (row + at::Scalar(offset)).clamp(0, last));
  };
  return up_to(band.end) != up_to(band.begin);
}

// [.., G, I, W] as the rows of one matrix, and back.
at::Tensor join_group(const at::Tensor& x) { return x.flatten(-3, -2); }
at::Tensor split_group(const at::Tensor& x, const at::Tensor& like) {
  return x.unflatten_symint(-2, {like.sym_size(-3), like.sym_size(-2)});
}

at::Tensor pairs(const at::Tensor& queries, const at::Tensor& keys) {
  return split_group(at::matmul(join_group(queries), keys.transpose(-2, -1)), queries);
}

void save_band(AutogradContext* ctx, const Band& band) {
  ctx->saved_data["begin"] = band.begin;
  ctx->saved_data["end"] = band.end;
}
Band saved_band(AutogradContext* ctx) {
  return {ctx->saved_data["begin"].toSymInt(), ctx->saved_data["end"].toSymInt()};
}

at::Tensor gather(const at::Tensor& weights, const at::Tensor& rows, const Band& band);

class Mix : public torch::autograd::Function<Mix> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weights, const at::Tensor& values,
                            const Band& band) {
    ctx->save_for_backward({weights, values});
    save_band(ctx, band);
    const at::Tensor bad = not_finite(values);
    const at::Tensor sums = split_group(at::matmul(join_group(weights), values.masked_fill(bad, 0)), weights);
    return sums.masked_fill(seen(bad, band, weights.sym_size(-2)).unsqueeze(-3), kNaN);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {pairs(grads[0], saved[1]), gather(saved[0], grads[0], saved_band(ctx)), at::Tensor()};
  }
};

/// The mirror of Mix: sums over the queries of a group, weights [.., G, I, J] and rows [.., G, I, D] -> [.., J, D].
class Gather : public torch::autograd::Function<Gather> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weights, const at::Tensor& rows, const Band& band) {
    ctx->save_for_backward({weights, rows});
    save_band(ctx, band);
    const at::Tensor bad = not_finite(rows);
    const at::Tensor sums = at::matmul(join_group(weights).transpose(-2, -1), join_group(rows.masked_fill(bad, 0)));
    return sums.masked_fill(seen(bad.any(-3), transposed(band), weights.sym_size(-1)), kNaN);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {pairs(saved[1], grads[0]), band_mix(saved[0], grads[0], saved_band(ctx)), at::Tensor()};
  }
};

at::Tensor gather(const at::Tensor& weights, const at::Tensor& rows, const Band& band) {
  return Gather::apply(weights, rows, band);
}

class Score : public torch::autograd::Function<Score> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k,
                               const OptionalTensor& bias, const at::Tensor& outside, const Band& band) {
    at::Tensor scores = pairs(q, k);
    if (bias) scores = scores + *bias;
    scores = scores.masked_fill(outside, -kInfinity);
    const at::Tensor lse = at::logsumexp(scores, {-1}, /*keepdim=*/true);
    const at::Tensor empty = lse == -kInfinity;
    ctx->save_for_backward({q, k, bias.value_or(at::Tensor()), outside, empty});
    ctx->set_materialize_grads(false);
    ctx->mark_non_differentiable({lse});
    save_band(ctx, band);
    return {scores.masked_fill(empty, 0), lse};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list result(5);
    if (!grads[0].defined()) return result;
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &bias = saved[2], &outside = saved[3], &empty = saved[4];
    const Band band = saved_band(ctx);
    const at::Tensor ds = grads[0].masked_fill(outside, 0).masked_fill(empty, 0);
    result[0] = band_mix(ds, k, band).masked_fill(empty, 0);
    result[1] = gather(ds, q.masked_fill(empty, 0), band);
    if (bias.defined()) result[2] = at::sum_to(ds, bias.sym_sizes());
    return result;
  }
};

}  // namespace

Scores band_scores(const at::Tensor& q, const at::Tensor& k, const OptionalTensor& bias, const at::Tensor& outside,
                   const Band& band) {
  const variable_list results = Score::apply(q, k, bias, outside, band);
  return {results[0], results[1]};
}

at::Tensor band_mix(const at::Tensor& weights, const at::Tensor& values, const Band& band) {
  return Mix::apply(weights, values, band);
}

}  // namespace longspan::ops::local
