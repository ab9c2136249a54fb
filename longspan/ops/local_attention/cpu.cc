#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "longspan/kernels/local/local.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/check.h"
#include "longspan/ops/local_attention/dispatch.h"
#include "longspan/ops/local_attention/reference.h"
#include "longspan/ops/parallel.h"

namespace longspan::ops::local {
namespace {

// The operands with dense rows and the borders; they must outlive the kernel's views of them.
struct Operands {
  at::Tensor q, k, v, table;
  Borders queries, keys;
  int64_t heads, reach_left, reach_right;
  double scale;

  Operands(const at::Tensor& q_in, const at::Tensor& k_in, const at::Tensor& v_in, const OptionalTensor& table_in,
           int64_t left, int64_t right, std::optional<double> scale_in, const OptionalTensor& cu_seqlens,
           const OptionalTensor& cu_seqlens_k) {
    const auto shape = check<int64_t>(q_in, k_in, v_in, table_in, left, right, cu_seqlens, cu_seqlens_k);
    q = dense_rows(q_in);
    k = dense_rows(k_in);
    v = dense_rows(v_in);
    if (table_in) table = table_in->contiguous();
    queries = load_borders(kOp, "cu_seqlens", cu_seqlens, shape.batch, shape.queries);
    keys = cu_seqlens_k ? load_borders(kOp, "cu_seqlens_k", cu_seqlens_k, shape.batch, shape.keys)
                        : load_borders(kOp, "cu_seqlens", cu_seqlens, shape.batch, shape.keys);
    check_row_counts(queries, keys);
    heads = shape.heads;
    // No sequence is longer than M, and shorter reaches cannot overflow in the kernel's arithmetic of positions.
    reach_left = std::min(left, shape.keys);
    reach_right = std::min(right, shape.keys);
    scale = scale_in.value_or(default_scale(shape.width));
  }

  template <class T>
  void fill(kernels::LocalParams<T>& p) const {
    p.sequences = queries.sequences;
    p.heads = heads;
    p.width = q.size(3);
    p.value_width = v.size(3);
    p.queries = queries.segments;
    p.keys = keys.segments;
    p.reach_left = reach_left;
    p.reach_right = reach_right;
    p.scale = scale;
    p.q = rows<T>(q);
    p.k = rows<T>(k);
    p.v = rows<T>(v);
    if (table.defined()) {
      p.table = table.const_data_ptr<T>();
      p.table_centre = (table.size(1) - 1) / 2;
      p.table_head_stride = table.size(0) == 1 ? 0 : table.size(1);
    }
  }
};

// The log-sum-exp [B, H, N] as rows of width 1.
template <class T, class Tensor>
RowsView<T> lse_rows(T* data, const Tensor& lse) {
  return {data, lse.stride(0), lse.stride(1), lse.stride(2)};
}

// `layout`: the caller's q and not its dense copy, so that the result is laid out as the meta function says.
template <class T>
std::tuple<at::Tensor, at::Tensor> run_forward(const Operands& x, const at::Tensor& layout) {
  at::Tensor out = empty_rows(x.q.size(0), x.heads, x.q.size(2), x.v.size(3), layout);
  at::Tensor lse = at::empty({x.q.size(0), x.heads, x.q.size(2)}, x.q.options());
  kernels::LocalForward<T> p;
  x.fill(p);
  p.out = mutable_rows<T>(out);
  p.lse = lse_rows(lse.mutable_data_ptr<T>(), lse);
  kernels::local_forward(p, torch_parallel());
  return {out, lse};
}

std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           const OptionalTensor& table, int64_t reach_left, int64_t reach_right,
                                           std::optional<double> scale, const OptionalTensor& cu_seqlens,
                                           const OptionalTensor& cu_seqlens_k, std::string_view backend) {
  const Backend chosen = choose_backend(kOp, backend, q);
  report_backend(kOp, backend, chosen, q);
  if (chosen != Backend::kernel)
    return composed(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k);
  const Operands x(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k);
  return q.scalar_type() == at::kFloat ? run_forward<float>(x, q) : run_forward<double>(x, q);
}

template <class T>
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> run_backward(const Operands& x, const at::Tensor& dout,
                                                                        const at::Tensor& out, const at::Tensor& lse,
                                                                        const at::Tensor& dq, const at::Tensor& dk,
                                                                        const at::Tensor& dv) {
  kernels::LocalBackward<T> p;
  x.fill(p);
  p.out = rows<T>(out);
  p.lse = lse_rows(lse.const_data_ptr<T>(), lse);
  p.dout = rows<T>(dout);
  p.dq = mutable_rows<T>(dq);
  p.dk = mutable_rows<T>(dk);
  p.dv = mutable_rows<T>(dv);
  at::Tensor dtable = x.table.defined() ? at::empty(x.table.sizes(), x.table.options()) : at::empty({0}, x.q.options());
  if (x.table.defined()) {
    p.dtable = dtable.mutable_data_ptr<T>();
    p.table_heads = x.table.size(0);
    p.table_size = x.table.size(1);
  }
  kernels::local_backward(p, torch_parallel());
  return {dq, dk, dv, dtable};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const OptionalTensor& table,
    const at::Tensor& out, const at::Tensor& lse, int64_t reach_left, int64_t reach_right, std::optional<double> scale,
    const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_k) {
  choose_backend(kOp, "kernel", q);
  const Operands x(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k);
  check_backward(dout, q, v, out, lse);
  const at::Tensor dense_dout = dense_rows(dout), dense_out = dense_rows(out), dense_lse = lse.contiguous();
  const at::Tensor dq = empty_rows_like(q), dk = empty_rows_like(k), dv = empty_rows_like(v);
  return q.scalar_type() == at::kFloat ? run_backward<float>(x, dense_dout, dense_out, dense_lse, dq, dk, dv)
                                       : run_backward<double>(x, dense_dout, dense_out, dense_lse, dq, dk, dv);
}

// Other devices have no kernel of their own.
std::tuple<at::Tensor, at::Tensor> forward_anywhere(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                    const OptionalTensor& table, int64_t reach_left,
                                                    int64_t reach_right, std::optional<double> scale,
                                                    const OptionalTensor& cu_seqlens,
                                                    const OptionalTensor& cu_seqlens_k, std::string_view backend) {
  report_backend(kOp, backend, choose_backend(kOp, backend, q), q);
  return composed(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k);
}

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, CPU, m) {
  m.impl("local_attention_forward", TORCH_FN(longspan::ops::local::forward));
  m.impl("local_attention_backward", TORCH_FN(longspan::ops::local::backward));
}

TORCH_LIBRARY_IMPL(longspan, CompositeExplicitAutograd, m) {
  m.impl("local_attention_forward", TORCH_FN(longspan::ops::local::forward_anywhere));
}
