// Shapes and layouts of the results without their values, for tracing and compilation.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/check.h"
#include "longspan/ops/local_attention/dispatch.h"

namespace longspan::ops::local {
namespace {

Outputs forward(const Inputs& x, const Options& o) {
  choose_backend(kOp, o.backend, x.q);
  const auto s = check<c10::SymInt>(x, o);
  return {empty_rows(s.batch, s.heads, s.queries, s.value_width, x.q, out_dtype(x.q, o)),
          at::empty_symint({s.batch, s.heads, s.queries}, x.q.options().dtype(sum_dtype(x.q)))};
}

Gradients backward(const at::Tensor& dout, const Inputs& x, const at::Tensor& out, const at::Tensor& lse,
                   const Options& o) {
  check<c10::SymInt>(x, o);
  check_backward(dout, x, out, lse);
  const at::Tensor dtable =
      x.table ? at::empty_symint(x.table->sym_sizes(), x.table->options()) : at::empty({0}, x.q.options());
  return {empty_rows_like(x.q), empty_rows_like(x.k), empty_rows_like(x.v), dtable};
}

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, Meta, m) {
  using namespace longspan::ops::local;
  m.impl("local_attention_forward", TORCH_FN(flat_forward<forward>));
  m.impl("local_attention_backward", TORCH_FN(flat_backward<backward>));
}
