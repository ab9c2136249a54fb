#include "longspan/nn/merged_attention.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <limits>

namespace longspan::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using torch::autograd::Variable;

std::pair<at::Tensor, at::Tensor> merge(const at::Tensor& a, const at::Tensor& lse_a, const at::Tensor& b,
                                        const at::Tensor& lse_b) {
  const at::Tensor lse = at::logaddexp(lse_a, lse_b);
  const at::Tensor out = a * (lse_a - lse).exp().unsqueeze(-1) + b * (lse_b - lse).exp().unsqueeze(-1);
  return {out.to(a.scalar_type()), lse};
}

/// One part by the library's kernels. The backward of each part is given the merged output and the merged log-sum-exp:
/// its probabilities exp(s - lse) are then those of the joint softmax, and rowsum(dout o out) is the joint correction.
class MergedFlash : public torch::autograd::Function<MergedFlash> {
 public:
  static Variable forward(AutogradContext* ctx, const Variable& q, const Variable& past_k, const Variable& past_v,
                          const Variable& k, const Variable& v) {
    const auto [a, lse_a] = at::_scaled_dot_product_flash_attention_for_cpu(q, past_k, past_v, 0.0, false);
    const auto [b, lse_b] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, true);
    const auto [out, lse] = merge(a, lse_a, b, lse_b);
    ctx->save_for_backward({q, past_k, past_v, k, v, out, lse});
    return out;
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &q = saved[0], &past_k = saved[1], &past_v = saved[2], &k = saved[3], &v = saved[4];
    const at::Tensor &out = saved[5], &lse = saved[6];
    if (!grads[0].defined()) return tensor_list(5);
    const auto [dq_a, dpast_k, dpast_v] =
        at::_scaled_dot_product_flash_attention_for_cpu_backward(grads[0], q, past_k, past_v, out, lse, 0.0, false);
    const auto [dq_b, dk, dv] =
        at::_scaled_dot_product_flash_attention_for_cpu_backward(grads[0], q, k, v, out, lse, 0.0, true);
    return {dq_a + dq_b, dpast_k, dpast_v, dk, dv};
  }
};

std::pair<at::Tensor, at::Tensor> by_matrix_products(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                     bool causal) {
  at::Tensor scores = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(-1)));
  if (causal) {
    const at::Tensor future = at::ones({q.size(2), k.size(2)}, q.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor lse = at::logsumexp(scores, -1);
  return {at::matmul((scores - lse.unsqueeze(-1)).exp(), v), lse};
}

}  // namespace

at::Tensor merged_attention(const at::Tensor& q, const at::Tensor& past_k, const at::Tensor& past_v,
                            const at::Tensor& k, const at::Tensor& v) {
  if (past_k.size(2) == 0) return at::scaled_dot_product_attention(q, k, v, {}, 0.0, true);
  if (q.size(2) == 0) return q;
  if (q.size(2) == 1)  // sees everything: one call over the joined keys is exact and has no merge
    return at::scaled_dot_product_attention(q, at::cat({past_k, k}, 2), at::cat({past_v, v}, 2));
  if (q.is_cpu()) return MergedFlash::apply(q, past_k, past_v, k, v);
  const auto [a, lse_a] = by_matrix_products(q, past_k, past_v, false);
  const auto [b, lse_b] = by_matrix_products(q, k, v, true);
  return merge(a, lse_a, b, lse_b).first;
}

}  // namespace longspan::nn
