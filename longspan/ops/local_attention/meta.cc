// Shapes and layouts of the results without their values, for tracing and compilation.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/check.h"
#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {
namespace {

std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                           std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                           const OptionalTensor& cu_seqlens_k, std::string_view backend) {
  choose_backend(kOp, backend, q);
  const auto s = check<c10::SymInt>(q, k, v, table, reach_left, reach_right, cu_seqlens, cu_seqlens_k);
  const auto lse_dtype = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return {empty_rows(s.batch, s.heads, s.queries, s.value_width, q),
          at::empty_symint({s.batch, s.heads, s.queries}, q.options().dtype(lse_dtype))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const OptionalTensor& table,
    const at::Tensor& out, const at::Tensor& lse, int64_t reach_left, int64_t reach_right, std::optional<double> scale,
    const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_k) {
  check<c10::SymInt>(q, k, v, table, reach_left, reach_right, cu_seqlens, cu_seqlens_k);
  check_backward(dout, q, v, out, lse);
  const at::Tensor dtable =
      table ? at::empty_symint(table->sym_sizes(), table->options()) : at::empty({0}, q.options());
  return {empty_rows_like(q), empty_rows_like(k), empty_rows_like(v), dtable};
}

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, Meta, m) {
  m.impl("local_attention_forward", TORCH_FN(longspan::ops::local::forward));
  m.impl("local_attention_backward", TORCH_FN(longspan::ops::local::backward));
}
