#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "longspan/kernels/memory/memory.h"
#include "longspan/ops/orthogonal_memory/check.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"
#include "longspan/ops/orthogonal_memory/reference.h"
#include "longspan/ops/parallel.h"

namespace longspan::ops::memory {
namespace {

// The operands with dense rows and the borders; they must outlive the kernel's views of them.
struct Operands {
  at::Tensor q, m, basis;
  Borders queries, sources;
  bool causal = true;
  double scale = 1;

  void hold(const at::Tensor& q_in, const at::Tensor& m_in, const at::Tensor& basis_in) {
    q = dense_rows(q_in);
    m = dense_rows(m_in);
    basis = basis_in.contiguous();
  }

  template <class T>
  void fill(kernels::MemoryParams<T>& p) const {
    p.sequences = queries.sequences;
    p.heads = q.size(1);
    p.slots = basis.size(1);
    p.width = q.size(3);
    p.causal = causal;
    p.queries = queries.segments;
    p.sources = sources.segments;
    p.scale = scale;
    p.q = rows<T>(q);
    p.m = rows<T>(m);
    p.basis = basis.const_data_ptr<T>();
    p.basis_head_stride = basis.size(0) == 1 ? 0 : basis.size(1) * basis.size(2);
  }
};

Operands load(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form_name,
              double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source) {
  const Form form = parse_form(form_name);
  const auto shape = check<int64_t>(q, m, basis, form, cu_seqlens, cu_seqlens_source);
  Operands x;
  x.hold(q, m, basis);
  x.queries = load_borders(kOp, "cu_seqlens", cu_seqlens, shape.batch, shape.queries);
  x.sources = cu_seqlens_source ? load_borders(kOp, "cu_seqlens_source", cu_seqlens_source, shape.batch, shape.sources)
                                : load_borders(kOp, "cu_seqlens", cu_seqlens, shape.batch, shape.sources);
  x.causal = form == Form::causal;
  x.scale = scale;
  return x;
}

struct Extension : Operands {
  at::Tensor closed, open, count;

  kernels::ConstMemoryState state() const {
    return {closed.const_data_ptr<double>(), open.const_data_ptr<double>(), count.const_data_ptr<int64_t>()};
  }
};

Extension load_extension(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                         const at::Tensor& open, const at::Tensor& count, double scale,
                         const OptionalTensor& cu_seqlens) {
  const auto shape = check_extend<int64_t>(q, m, basis, closed, open, count, cu_seqlens);
  Extension x;
  x.hold(q, m, basis);
  x.closed = closed.contiguous();
  x.open = open.contiguous();
  x.count = count.contiguous();
  check_count_values(count);
  x.queries = load_borders(kExtend, "cu_seqlens", cu_seqlens, shape.batch, shape.queries);
  x.sources = x.queries;
  x.scale = scale;
  return x;
}

// A gradient that is zero everywhere: one row, read again and again.
at::Tensor zero_rows(const at::Tensor& q) { return at::zeros({q.size(3)}, q.options()).expand(q.sizes()); }

// `layout`: the caller's q and not its dense copy, so that the result is laid out as the meta function says.
template <class T>
at::Tensor run_forward(const Operands& x, const at::Tensor& layout) {
  at::Tensor out = empty_rows_like(layout);
  kernels::MemoryForward<T> p;
  x.fill(p);
  p.out = mutable_rows<T>(out);
  kernels::memory_forward(p, torch_parallel());
  return out;
}

at::Tensor forward(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                   double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                   std::string_view backend) {
  const Backend chosen = choose_backend(kOp, backend, q);
  report_backend(kOp, backend, chosen, q);
  if (chosen == Backend::composed) return composed(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source);
  const Operands x = load(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source);
  return q.scalar_type() == at::kFloat ? run_forward<float>(x, q) : run_forward<double>(x, q);
}

struct Gradients {
  at::Tensor dq, dm, dbasis;

  template <class T>
  void fill(kernels::MemoryBackward<T>& p, const at::Tensor& dout) const {
    p.dout = rows<T>(dout);
    p.dq = mutable_rows<T>(dq);
    p.dm = mutable_rows<T>(dm);
    p.dbasis = dbasis.mutable_data_ptr<T>();
  }
};

template <class T>
void run_backward(const Operands& x, const at::Tensor& dout, const Gradients& gradients) {
  kernels::MemoryBackward<T> p;
  x.fill(p);
  gradients.fill(p, dout);
  kernels::memory_backward(p, torch_parallel());
}

Tensors3 backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                  std::string_view form, double scale, const OptionalTensor& cu_seqlens,
                  const OptionalTensor& cu_seqlens_source) {
  choose_backend(kOp, "kernel", q);
  const Operands x = load(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source);
  check_dout(kOp, dout, q);
  const Gradients g{empty_rows_like(q), empty_rows_like(m), at::empty(basis.sizes(), basis.options())};
  const at::Tensor dense_dout = dense_rows(dout);
  q.scalar_type() == at::kFloat ? run_backward<float>(x, dense_dout, g) : run_backward<double>(x, dense_dout, g);
  return {g.dq, g.dm, g.dbasis};
}

template <class T>
Tensors4 run_extend(const Extension& x, const at::Tensor& layout) {
  at::Tensor out = empty_rows_like(layout);
  at::Tensor closed = at::empty(x.closed.sizes(), x.closed.options());
  at::Tensor open = at::empty(x.open.sizes(), x.open.options());
  at::Tensor count = at::empty(x.count.sizes(), x.count.options());
  kernels::MemoryForward<T> p;
  x.fill(p);
  p.state = x.state();
  p.out = mutable_rows<T>(out);
  p.state_out = {closed.mutable_data_ptr<double>(), open.mutable_data_ptr<double>(), count.mutable_data_ptr<int64_t>()};
  kernels::memory_forward(p, torch_parallel());
  return {out, closed, open, count};
}

Tensors4 extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                const at::Tensor& open, const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens,
                std::string_view backend) {
  const Backend chosen = choose_backend(kExtend, backend, q);
  report_backend(kExtend, backend, chosen, q);
  if (chosen == Backend::composed) return composed_extend(q, m, basis, closed, open, count, scale, cu_seqlens);
  const Extension x = load_extension(q, m, basis, closed, open, count, scale, cu_seqlens);
  return q.scalar_type() == at::kFloat ? run_extend<float>(x, q) : run_extend<double>(x, q);
}

template <class T>
void run_extend_backward(const Extension& x, const at::Tensor& dout, const Gradients& gradients,
                         const at::Tensor& dclosed_out, const at::Tensor& dopen_out, const at::Tensor& dclosed,
                         const at::Tensor& dopen) {
  kernels::MemoryBackward<T> p;
  x.fill(p);
  p.state = x.state();
  gradients.fill(p, dout);
  if (dclosed_out.defined()) p.dclosed_out = dclosed_out.const_data_ptr<double>();
  if (dopen_out.defined()) p.dopen_out = dopen_out.const_data_ptr<double>();
  p.dclosed = dclosed.mutable_data_ptr<double>();
  p.dopen = dopen.mutable_data_ptr<double>();
  kernels::memory_backward(p, torch_parallel());
}

Tensors5 extend_backward(const OptionalTensor& dout, const OptionalTensor& dclosed_out, const OptionalTensor& dopen_out,
                         const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                         const at::Tensor& open, const at::Tensor& count, double scale,
                         const OptionalTensor& cu_seqlens) {
  choose_backend(kExtend, "kernel", q);
  const Extension x = load_extension(q, m, basis, closed, open, count, scale, cu_seqlens);
  check_extend_gradients<int64_t>(dout, dclosed_out, dopen_out, q, basis, cu_seqlens);
  const at::Tensor dense_dout = dout ? dense_rows(*dout) : zero_rows(q);
  const auto dense = [](const OptionalTensor& t) { return t ? t->contiguous() : at::Tensor(); };
  const at::Tensor dense_closed = dense(dclosed_out), dense_open = dense(dopen_out);
  const Gradients g{empty_rows_like(q), empty_rows_like(m), at::empty(basis.sizes(), basis.options())};
  const at::Tensor dclosed = at::empty(closed.sizes(), closed.options()),
                   dopen = at::empty(open.sizes(), open.options());
  if (q.scalar_type() == at::kFloat)
    run_extend_backward<float>(x, dense_dout, g, dense_closed, dense_open, dclosed, dopen);
  else
    run_extend_backward<double>(x, dense_dout, g, dense_closed, dense_open, dclosed, dopen);
  return {g.dq, g.dm, g.dbasis, dclosed, dopen};
}

// Other devices have no kernel of their own.
at::Tensor forward_anywhere(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                            double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                            std::string_view backend) {
  report_backend(kOp, backend, choose_backend(kOp, backend, q), q);
  return composed(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source);
}
Tensors4 extend_anywhere(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                         const at::Tensor& open, const at::Tensor& count, double scale,
                         const OptionalTensor& cu_seqlens, std::string_view backend) {
  report_backend(kExtend, backend, choose_backend(kExtend, backend, q), q);
  return composed_extend(q, m, basis, closed, open, count, scale, cu_seqlens);
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, CPU, m) {
  m.impl("orthogonal_memory", TORCH_FN(longspan::ops::memory::forward));
  m.impl("orthogonal_memory_backward", TORCH_FN(longspan::ops::memory::backward));
  m.impl("orthogonal_memory_extend", TORCH_FN(longspan::ops::memory::extend));
  m.impl("orthogonal_memory_extend_backward", TORCH_FN(longspan::ops::memory::extend_backward));
}

TORCH_LIBRARY_IMPL(longspan, CompositeExplicitAutograd, m) {
  m.impl("orthogonal_memory", TORCH_FN(longspan::ops::memory::forward_anywhere));
  m.impl("orthogonal_memory_extend", TORCH_FN(longspan::ops::memory::extend_anywhere));
}
