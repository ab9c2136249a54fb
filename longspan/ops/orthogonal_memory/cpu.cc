#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "longspan/kernels/memory/memory.h"
#include "longspan/ops/orthogonal_memory/aten_forms.h"
#include "longspan/ops/orthogonal_memory/check.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"
#include "longspan/ops/parallel.h"

namespace longspan::ops::memory {
namespace {

// The operands with dense rows and the borders; they must outlive the kernel's views of them.
struct Operands {
  at::Tensor q, m, basis;
  Borders queries, sources;
  bool causal = true;
  double scale = 1;

  Operands(const Inputs& x, const Options& o)
      : q(dense_rows(x.q)), m(dense_rows(x.m)), basis(x.basis.contiguous()), scale(o.scale) {}

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

Operands load(const Inputs& x, std::string_view form_name, const Options& o) {
  const Form form = parse_form(form_name);
  const auto shape = check<int64_t>(x, form, o);
  Operands loaded(x, o);
  loaded.queries = load_borders(kOp, "cu_seqlens", o.cu_seqlens, shape.batch, shape.queries);
  loaded.sources = o.cu_seqlens_source
                       ? load_borders(kOp, "cu_seqlens_source", o.cu_seqlens_source, shape.batch, shape.sources)
                       : load_borders(kOp, "cu_seqlens", o.cu_seqlens, shape.batch, shape.sources);
  loaded.causal = form == Form::causal;
  return loaded;
}

struct Extension : Operands {
  at::Tensor closed, open, count;

  Extension(const Inputs& x, const State& state, const Options& o)
      : Operands(x, o),
        closed(state.closed.contiguous()),
        open(state.open.contiguous()),
        count(state.count.contiguous()) {}

  kernels::ConstMemoryState state() const {
    return {closed.const_data_ptr<double>(), open.const_data_ptr<double>(), count.const_data_ptr<int64_t>()};
  }
};

Extension load_extension(const Inputs& x, const State& state, const Options& o) {
  const auto shape = check_extend<int64_t>(x, state, o);
  check_count_values(state.count);
  Extension loaded(x, state, o);
  loaded.queries = load_borders(kExtend, "cu_seqlens", o.cu_seqlens, shape.batch, shape.queries);
  loaded.sources = loaded.queries;
  return loaded;
}

// A gradient that is zero everywhere: one row, read again and again.
at::Tensor zero_rows(const at::Tensor& q) { return at::zeros({q.size(3)}, q.options()).expand(q.sizes()); }

at::Tensor empty_like(const at::Tensor& t) { return at::empty(t.sizes(), t.options()); }

at::Tensor no_visible() { return at::empty({0}, at::kDouble); }

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

at::Tensor forward(const Inputs& x, std::string_view form, const Options& o) {
  const Backend chosen = choose(kOp, x, o);
  report_backend(kOp, o.backend, chosen, x.q);
  if (chosen != Backend::kernel) return run_in_aten(chosen, x, form, o);
  const Operands loaded = load(x, form, o);
  return x.q.scalar_type() == at::kFloat ? run_forward<float>(loaded, x.q) : run_forward<double>(loaded, x.q);
}

struct KernelGradients {
  at::Tensor dq, dm, dbasis;

  explicit KernelGradients(const Inputs& x)
      : dq(empty_rows_like(x.q)), dm(empty_rows_like(x.m)), dbasis(empty_like(x.basis)) {}

  template <class T>
  void fill(kernels::MemoryBackward<T>& p, const at::Tensor& dout) const {
    p.dout = rows<T>(dout);
    p.dq = mutable_rows<T>(dq);
    p.dm = mutable_rows<T>(dm);
    p.dbasis = dbasis.mutable_data_ptr<T>();
  }
};

template <class T>
void run_backward(const Operands& x, const at::Tensor& dout, const KernelGradients& gradients) {
  kernels::MemoryBackward<T> p;
  x.fill(p);
  gradients.fill(p, dout);
  kernels::memory_backward(p, torch_parallel());
}

Gradients backward(const at::Tensor& dout, const Inputs& x, std::string_view form, const Options& o) {
  choose_kernel(kOp, x, o);
  const Operands loaded = load(x, form, o);
  check_dout(kOp, dout, x.q);
  const KernelGradients g(x);
  const at::Tensor dense_dout = dense_rows(dout);
  x.q.scalar_type() == at::kFloat ? run_backward<float>(loaded, dense_dout, g)
                                  : run_backward<double>(loaded, dense_dout, g);
  return {g.dq, g.dm, g.dbasis};
}

template <class T>
Extended run_extend(const Extension& x, const at::Tensor& layout) {
  at::Tensor out = empty_rows_like(layout);
  at::Tensor closed = empty_like(x.closed), open = empty_like(x.open), count = empty_like(x.count);
  kernels::MemoryForward<T> p;
  x.fill(p);
  p.state = x.state();
  p.out = mutable_rows<T>(out);
  p.state_out = {closed.mutable_data_ptr<double>(), open.mutable_data_ptr<double>(), count.mutable_data_ptr<int64_t>()};
  kernels::memory_forward(p, torch_parallel());
  return {out, closed, open, count, no_visible()};
}

Extended extend(const Inputs& x, const State& state, const Options& o) {
  const Backend chosen = choose(kExtend, x, o);
  report_backend(kExtend, o.backend, chosen, x.q);
  if (chosen != Backend::kernel) return run_in_aten(chosen, x, state, o);
  const Extension loaded = load_extension(x, state, o);
  return x.q.scalar_type() == at::kFloat ? run_extend<float>(loaded, x.q) : run_extend<double>(loaded, x.q);
}

template <class T>
void run_extend_backward(const Extension& x, const at::Tensor& dout, const KernelGradients& gradients,
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

ExtendGradients extend_backward(const ExtendedGradients& gradients, const Inputs& x, const State& state,
                                const Options& o) {
  choose_kernel(kExtend, x, o);
  const auto shape = check_extend<int64_t>(x, state, o);
  const Extension loaded = load_extension(x, state, o);
  check_extended_gradients(gradients, x, shape, o);
  const at::Tensor dense_dout = gradients.out ? dense_rows(*gradients.out) : zero_rows(x.q);
  const auto dense = [](const OptionalTensor& t) { return t ? t->contiguous() : at::Tensor(); };
  const at::Tensor dense_closed = dense(gradients.closed), dense_open = dense(gradients.open);
  const KernelGradients g(x);
  const at::Tensor dclosed = empty_like(state.closed), dopen = empty_like(state.open);
  if (x.q.scalar_type() == at::kFloat)
    run_extend_backward<float>(loaded, dense_dout, g, dense_closed, dense_open, dclosed, dopen);
  else
    run_extend_backward<double>(loaded, dense_dout, g, dense_closed, dense_open, dclosed, dopen);
  return {g.dq, g.dm, g.dbasis, dclosed, dopen, no_visible()};
}

// Other devices have no kernel of their own.
at::Tensor forward_anywhere(const Inputs& x, std::string_view form, const Options& o) {
  const Backend chosen = choose(kOp, x, o);
  report_backend(kOp, o.backend, chosen, x.q);
  return run_in_aten(chosen, x, form, o);
}
Extended extend_anywhere(const Inputs& x, const State& state, const Options& o) {
  const Backend chosen = choose(kExtend, x, o);
  report_backend(kExtend, o.backend, chosen, x.q);
  return run_in_aten(chosen, x, state, o);
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, CPU, m) {
  using namespace longspan::ops::memory;
  m.impl("orthogonal_memory", TORCH_FN(flat_forward<forward>));
  m.impl("orthogonal_memory_backward", TORCH_FN(flat_backward<backward>));
  m.impl("orthogonal_memory_extend", TORCH_FN(flat_extend<extend>));
  m.impl("orthogonal_memory_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}

TORCH_LIBRARY_IMPL(longspan, CompositeExplicitAutograd, m) {
  using namespace longspan::ops::memory;
  m.impl("orthogonal_memory", TORCH_FN(flat_forward<forward_anywhere>));
  m.impl("orthogonal_memory_extend", TORCH_FN(flat_extend<extend_anywhere>));
}
