#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "longspan/kernels/memory/memory.h"
#include "longspan/ops/common/load_dropout.h"
#include "longspan/ops/orthogonal_memory/aten_forms.h"
#include "longspan/ops/orthogonal_memory/check.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"
#include "longspan/ops/parallel.h"

namespace longspan::ops::memory {
namespace {

// The operands with dense rows, the basis in the dtype of the sums, and the borders; they must outlive the kernel's
// views of them.
struct Operands {
  at::Tensor q, m, basis;
  Borders queries, sources;
  bool causal = true;
  double scale = 1;
  int64_t window = 0;
  Dropout dropout;

  Operands(const Inputs& x, const Options& o)
      : q(dense_rows(x.q)),
        m(dense_rows(x.m)),
        basis(x.basis.to(sum_dtype(x.q)).contiguous()),
        scale(o.scale),
        window(o.window),
        dropout(load_dropout(o.dropout, o.dropout_seed)) {}

  template <class S, class M>
  void fill(kernels::MemoryParams<S, M>& p) const {
    p.sequences = queries.sequences;
    p.heads = q.size(1);
    p.feature_heads = m.size(1);
    p.slots = basis.size(1);
    p.width = q.size(3);
    p.causal = causal;
    p.window = window;
    p.queries = queries.segments;
    p.sources = sources.segments;
    p.scale = scale;
    p.dropout = dropout;
    p.q = rows<S>(q);
    p.m = rows<M>(m);
    p.basis = basis.const_data_ptr<Computed<S>>();
    p.basis_head_stride = basis.size(0) == 1 ? 0 : basis.size(1) * basis.size(2);
  }
};

/// use(S(), M()) with the types in which q and m lie in memory.
template <class Use>
void dispatch_storage(const Inputs& x, const Use& use) {
  if (x.q.scalar_type() == at::kDouble) return use(double(), double());
  if (x.q.scalar_type() == at::kFloat) return use(float(), float());
  if (x.m.scalar_type() == at::kFloat) return use(BFloat16(), float());
  use(BFloat16(), BFloat16());
}

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

Operands load_extension(const Inputs& x, const State& state, const Options& o) {
  const auto shape = check_extend<int64_t>(x, state, o);
  check_positions(kExtend, "count", state.count, shape.queries);
  Operands loaded(x, o);
  loaded.queries = load_borders(kExtend, "cu_seqlens", o.cu_seqlens, shape.batch, shape.queries);
  loaded.sources = loaded.queries;
  return loaded;
}

at::Tensor empty_visible(const State& state) {
  return state.visible ? uninitialised_like(*state.visible) : at::empty({0}, state.closed.options().dtype(at::kDouble));
}

const double* doubles(const at::Tensor& t) { return t.defined() ? t.const_data_ptr<double>() : nullptr; }
double* mutable_doubles(const at::Tensor& t) { return t.numel() ? t.mutable_data_ptr<double>() : nullptr; }

// The kernel's numbers are float64, also those of a float32 accumulator.
at::Tensor as_doubles(const OptionalTensor& t) { return t ? t->to(at::kDouble).contiguous() : at::Tensor(); }

// Results are laid out as the caller's q and not as its dense copy, so that the meta function is right.
at::Tensor forward(const Inputs& x, std::string_view form, const Options& o) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  report_backend(kOp, o.backend, chosen, x.q);
  if (chosen != Backend::kernel) return run_in_aten(chosen, x, form, o);
  const Operands loaded = load(x, form, o);
  at::Tensor out = empty_rows_like(x.q);
  dispatch_storage(x, [&]<class S, class M>(S, M) {
    kernels::MemoryForward<S, M> p;
    loaded.fill(p);
    p.accumulator = parse_accumulator(kOp, o.accumulator);
    p.out = mutable_rows<S>(out);
    kernels::memory_forward(p, torch_parallel());
  });
  return out;
}

struct KernelGradients {
  at::Tensor dq, dm, dbasis;

  explicit KernelGradients(const Inputs& x)
      : dq(empty_rows_like(x.q)),
        dm(empty_rows_like(x.m)),
        dbasis(at::empty(x.basis.sizes(), x.basis.options().dtype(sum_dtype(x.q)))) {}

  template <class S, class M>
  void fill(kernels::MemoryBackward<S, M>& p, const at::Tensor& dout) const {
    p.dout = rows<S>(dout);
    p.dq = mutable_rows<S>(dq);
    p.dm = mutable_rows<M>(dm);
    p.dbasis = dbasis.mutable_data_ptr<Computed<S>>();
  }
};

Gradients backward(const at::Tensor& dout, const Inputs& x, std::string_view form, const Options& o) {
  choose_backend(kOp, "kernel", x.q);
  const Operands loaded = load(x, form, o);
  check_dout(kOp, dout, x.q);
  const KernelGradients g(x);
  const at::Tensor dense_dout = dense_rows(dout);
  dispatch_storage(x, [&]<class S, class M>(S, M) {
    kernels::MemoryBackward<S, M> p;
    loaded.fill(p);
    g.fill(p, dense_dout);
    kernels::memory_backward(p, torch_parallel());
  });
  return {g.dq, g.dm, g.dbasis.to(x.basis.scalar_type())};
}

Extended extend(const Inputs& x, const State& state, const Options& o) {
  const Backend chosen = choose_backend(kExtend, o.backend, x.q);
  report_backend(kExtend, o.backend, chosen, x.q);
  if (chosen != Backend::kernel) return run_in_aten(chosen, x, state, o);
  const Operands loaded = load_extension(x, state, o);
  const at::Tensor closed = as_doubles(state.closed), open = as_doubles(state.open);
  const at::Tensor visible = as_doubles(state.visible), count = state.count.contiguous();
  const at::Tensor out = empty_rows_like(x.q), closed_out = uninitialised_like(closed),
                   open_out = uninitialised_like(open);
  const at::Tensor count_out = uninitialised_like(count), visible_out = empty_visible(state);
  dispatch_storage(x, [&]<class S, class M>(S, M) {
    kernels::MemoryForward<S, M> p;
    loaded.fill(p);
    p.accumulator = parse_accumulator(kExtend, o.accumulator);
    p.state = {doubles(closed), doubles(open), count.const_data_ptr<int64_t>(), doubles(visible)};
    p.out = mutable_rows<S>(out);
    p.state_out = {closed_out.mutable_data_ptr<double>(), open_out.mutable_data_ptr<double>(),
                   count_out.mutable_data_ptr<int64_t>(), mutable_doubles(visible_out)};
    kernels::memory_forward(p, torch_parallel());
  });
  const auto dtype = state.closed.scalar_type();
  return {out, closed_out.to(dtype), open_out.to(dtype), count_out, visible_out};
}

// Between sums with corrections, [S, H, 2 R], and the gradient with respect to their exact values: a sum and its
// correction enter the value alike, and a correction that leaves changes nothing but the rounding of its sum.
struct Corrections {
  bool paired;
  int64_t slots;

  at::Tensor value(const at::Tensor& t) const { return paired ? t.narrow(2, 0, slots) + t.narrow(2, slots, slots) : t; }
  OptionalTensor incoming(const OptionalTensor& t) const {
    return paired && t ? OptionalTensor(t->narrow(2, 0, slots)) : t;
  }
  at::Tensor outgoing(const at::Tensor& t) const { return paired ? at::cat({t, t}, 2) : t; }
};

ExtendGradients extend_backward(const ExtendedGradients& gradients, const Inputs& x, const State& state,
                                const Options& o) {
  choose_backend(kExtend, "kernel", x.q);
  const auto shape = check_extend<int64_t>(x, state, o);
  check_extended_gradients(gradients, x, shape, o);
  const Operands loaded = load_extension(x, state, o);
  const Corrections corrections{o.accumulator == "float32_compensated", shape.slots};
  const at::Tensor closed = corrections.value(as_doubles(state.closed));
  const at::Tensor open = corrections.value(as_doubles(state.open));
  const at::Tensor visible = as_doubles(state.visible), count = state.count.contiguous();
  const at::Tensor dclosed_out = as_doubles(corrections.incoming(gradients.closed));
  const at::Tensor dopen_out = as_doubles(corrections.incoming(gradients.open));
  const at::Tensor dvisible_out = as_doubles(gradients.visible);
  const at::Tensor dout = gradients.out ? dense_rows(*gradients.out) : zero_rows(x.q);
  const at::Tensor dclosed = uninitialised_like(closed), dopen = uninitialised_like(open),
                   dvisible = empty_visible(state);
  const KernelGradients g(x);
  dispatch_storage(x, [&]<class S, class M>(S, M) {
    kernels::MemoryBackward<S, M> p;
    loaded.fill(p);
    p.state = {doubles(closed), doubles(open), count.const_data_ptr<int64_t>(), doubles(visible)};
    g.fill(p, dout);
    p.dstate_out = {doubles(dclosed_out), doubles(dopen_out), nullptr, doubles(dvisible_out)};
    p.dstate = {dclosed.mutable_data_ptr<double>(), dopen.mutable_data_ptr<double>(), nullptr,
                mutable_doubles(dvisible)};
    kernels::memory_backward(p, torch_parallel());
  });
  const auto dtype = state.closed.scalar_type();
  return {g.dq,
          g.dm,
          g.dbasis.to(x.basis.scalar_type()),
          corrections.outgoing(dclosed).to(dtype),
          corrections.outgoing(dopen).to(dtype),
          dvisible};
}

// Other devices have no kernel of their own.
at::Tensor forward_anywhere(const Inputs& x, std::string_view form, const Options& o) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  report_backend(kOp, o.backend, chosen, x.q);
  return run_in_aten(chosen, x, form, o);
}
Extended extend_anywhere(const Inputs& x, const State& state, const Options& o) {
  const Backend chosen = choose_backend(kExtend, o.backend, x.q);
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
