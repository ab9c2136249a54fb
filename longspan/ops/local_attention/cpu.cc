#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "longspan/kernels/local/local.h"
#include "longspan/ops/common/load_dropout.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/local_attention/aten_forms.h"
#include "longspan/ops/local_attention/check.h"
#include "longspan/ops/local_attention/dispatch.h"
#include "longspan/ops/parallel.h"

namespace longspan::ops::local {
namespace {

// The operands with dense rows and the borders; they must outlive the kernel's views of them.
struct Operands {
  at::Tensor q, k, v;
  at::Tensor table;           // in the dtype of the sums
  at::Tensor dropout_origin;  // where given
  Borders queries, keys;
  int64_t reach_left, reach_right;
  double scale;
  Dropout dropout;

  Operands(const Inputs& x, const Options& o) {
    const auto shape = check<int64_t>(x, o);
    q = dense_rows(x.q);
    k = dense_rows(x.k);
    v = dense_rows(x.v);
    if (x.table) table = x.table->to(sum_dtype(x.q)).contiguous();
    queries = load_borders(kOp, "cu_seqlens", o.cu_seqlens, shape.batch, shape.queries);
    keys = o.cu_seqlens_k ? load_borders(kOp, "cu_seqlens_k", o.cu_seqlens_k, shape.batch, shape.keys)
                          : load_borders(kOp, "cu_seqlens", o.cu_seqlens, shape.batch, shape.keys);
    check_row_counts(queries, keys);
    // No sequence is longer than M, and shorter reaches cannot overflow in the kernel's arithmetic of positions.
    reach_left = std::min(o.reach_left, shape.keys);
    reach_right = std::min(o.reach_right, shape.keys);
    scale = o.scale.value_or(default_scale(shape.width));
    dropout = load_dropout(o.dropout, o.dropout_seed);
    if (o.dropout_origin) dropout_origin = o.dropout_origin->contiguous();
  }

  template <class S>
  void fill(kernels::LocalParams<S>& p) const {
    p.sequences = queries.sequences;
    p.heads = q.size(1);
    p.key_heads = k.size(1);
    p.width = q.size(3);
    p.value_width = v.size(3);
    p.queries = queries.segments;
    p.keys = keys.segments;
    p.reach_left = reach_left;
    p.reach_right = reach_right;
    p.scale = scale;
    p.dropout = dropout;
    if (dropout_origin.defined()) p.dropout_origin = dropout_origin.const_data_ptr<int64_t>();
    p.q = rows<S>(q);
    p.k = rows<S>(k);
    p.v = rows<S>(v);
    if (table.defined()) {
      p.table = table.const_data_ptr<Computed<S>>();
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

// Calls run<S, O>() for the types that q and out are stored as.
template <class Run>
void with_types(const at::Tensor& q, const at::Tensor& out, const Run& run) {
  if (q.scalar_type() == at::kDouble)
    run.template operator()<double, double>();
  else if (q.scalar_type() == at::kFloat)
    run.template operator()<float, float>();
  else if (out.scalar_type() == at::kFloat)
    run.template operator()<BFloat16, float>();
  else
    run.template operator()<BFloat16, BFloat16>();
}

Outputs forward(const Inputs& x, const Options& o) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  report_backend(kOp, o.backend, chosen, x.q);
  if (chosen != Backend::kernel) return run_in_aten(chosen, x, o);
  const Operands operands(x, o);
  // Laid out as the caller's q and not as its dense copy: so says the meta function.
  const at::Tensor out = empty_rows(x.q.size(0), x.q.size(1), x.q.size(2), x.v.size(3), x.q, out_dtype(x.q, o));
  const at::Tensor lse = at::empty({x.q.size(0), x.q.size(1), x.q.size(2)}, x.q.options().dtype(sum_dtype(x.q)));
  with_types(x.q, out, [&]<class S, class O>() {
    kernels::LocalForward<S, O> p;
    operands.fill(p);
    p.out = mutable_rows<O>(out);
    p.lse = lse_rows(lse.mutable_data_ptr<Computed<S>>(), lse);
    kernels::local_forward(p, torch_parallel());
  });
  return {out, lse};
}

Gradients backward(const at::Tensor& dout, const Inputs& x, const at::Tensor& out, const at::Tensor& lse,
                   const Options& o) {
  choose_backend(kOp, "kernel", x.q);
  const Operands operands(x, o);
  check_backward(dout, x, out, lse);
  const at::Tensor dense_dout = dense_rows(dout), dense_out = dense_rows(out), dense_lse = lse.contiguous();
  const at::Tensor dq = empty_rows_like(x.q), dk = empty_rows_like(x.k), dv = empty_rows_like(x.v);
  const at::Tensor& table = operands.table;
  at::Tensor dtable = table.defined() ? at::empty(table.sizes(), table.options()) : at::empty({0}, x.q.options());
  with_types(x.q, out, [&]<class S, class O>() {
    kernels::LocalBackward<S, O> p;
    operands.fill(p);
    p.out = rows<O>(dense_out);
    p.lse = lse_rows(dense_lse.const_data_ptr<Computed<S>>(), dense_lse);
    p.dout = rows<O>(dense_dout);
    p.dq = mutable_rows<S>(dq);
    p.dk = mutable_rows<S>(dk);
    p.dv = mutable_rows<S>(dv);
    if (table.defined()) {
      p.dtable = dtable.mutable_data_ptr<Computed<S>>();
      p.table_heads = table.size(0);
      p.table_size = table.size(1);
    }
    kernels::local_backward(p, torch_parallel());
  });
  if (x.table) dtable = dtable.to(x.table->scalar_type());
  return {dq, dk, dv, dtable};
}

// Other devices have no kernel of their own.
Outputs forward_anywhere(const Inputs& x, const Options& o) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  report_backend(kOp, o.backend, chosen, x.q);
  return run_in_aten(chosen, x, o);
}

}  // namespace
}  // namespace longspan::ops::local

TORCH_LIBRARY_IMPL(longspan, CPU, m) {
  using namespace longspan::ops::local;
  m.impl("local_attention_forward", TORCH_FN(flat_forward<forward>));
  m.impl("local_attention_backward", TORCH_FN(flat_backward<backward>));
}

TORCH_LIBRARY_IMPL(longspan, CompositeExplicitAutograd, m) {
  m.impl("local_attention_forward",
         TORCH_FN(longspan::ops::local::flat_forward<longspan::ops::local::forward_anywhere>));
}
