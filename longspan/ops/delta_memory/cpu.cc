#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "longspan/kernels/delta/delta_memory.h"
#include "longspan/ops/common/errors.h"
#include "longspan/ops/delta_memory/aten_forms.h"
#include "longspan/ops/delta_memory/check.h"
#include "longspan/ops/delta_memory/segments.h"
#include "longspan/ops/parallel.h"

namespace longspan::ops::delta {
namespace {

template <class T>
const T* data(const at::Tensor& t) {
  return t.defined() ? t.const_data_ptr<T>() : nullptr;
}
template <class T>
T* mutable_data(const at::Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

at::Tensor contiguous(const OptionalTensor& t, at::ScalarType dtype) {
  return t ? t->to(dtype).contiguous() : at::Tensor();
}

/// The state of a stream, or its gradient, as contiguous tensors; all undefined for none.
struct StateTensors {
  at::Tensor memory, keys, writes, log_alpha, position;

  template <class T>
  kernels::ConstDeltaState<T> view() const {
    return {data<T>(memory), data<T>(keys), data<T>(writes), data<T>(log_alpha), data<int64_t>(position)};
  }
  template <class T>
  kernels::DeltaState<T> mutable_view() const {
    return {mutable_data<T>(memory), mutable_data<T>(keys), mutable_data<T>(writes), mutable_data<T>(log_alpha),
            mutable_data<int64_t>(position)};
  }
  StateTensors uninitialised() const {
    const auto like = [](const at::Tensor& t) { return t.defined() ? uninitialised_like(t) : t; };
    return {like(memory), like(keys), like(writes), like(log_alpha), like(position)};
  }
  State returned() const { return {memory, keys, writes, optional(log_alpha), position}; }
};

StateTensors load_state(const State& s, at::ScalarType dtype) {
  return {contiguous(s.memory, dtype), contiguous(s.keys, dtype), contiguous(s.writes, dtype),
          contiguous(s.log_alpha, dtype), s.position.contiguous()};
}

/// Operands with dense rows, beta and log_alpha in the dtype of the sums, the state and the borders: what the kernel's
/// views point into.
struct Operands {
  Shape<int64_t> shape;
  at::ScalarType dtype;
  at::Tensor q, k, v, beta, log_alpha;
  StateTensors state;
  Borders borders;
  bool delta;

  Operands(const char* op, const Inputs& x, const Options& o, const Shape<int64_t>& sizes, const StateTensors& before)
      : shape(sizes),
        dtype(sum_dtype(x.q)),
        q(dense_rows(x.q)),
        k(dense_rows(x.k)),
        v(dense_rows(x.v)),
        beta(x.beta.to(dtype)),
        state(before),
        borders(load_borders(op, "cu_seqlens", o.cu_seqlens, sizes.batch, sizes.rows)),
        delta(o.delta) {
    if (x.log_alpha) log_alpha = x.log_alpha->to(dtype);
    if (sizes.decay == DeltaDecay::slot) log_alpha = dense_rows(log_alpha);
  }

  template <class S>
  void fill(kernels::DeltaParams<S>& p) const {
    using T = Computed<S>;
    p.sequences = borders.sequences;
    p.heads = shape.heads;
    p.slots = shape.slots;
    p.width = shape.width;
    p.delta = delta;
    p.decay = shape.decay;
    p.rows = borders.segments;
    p.q = rows<S>(q);
    p.k = rows<S>(k);
    p.v = rows<S>(v);
    p.beta = rows<T>(beta);
    if (log_alpha.defined()) p.log_alpha = rows<T>(log_alpha);
    p.state = state.view<T>();
  }
  at::TensorOptions sums() const { return q.options().dtype(dtype); }
};

Operands load(const Inputs& x, const OptionalTensor& state, const Options& o) {
  const auto shape = check<int64_t>(x, state, o);
  StateTensors before;
  before.memory = contiguous(state, sum_dtype(x.q));
  return {kOp, x, o, shape, before};
}

Operands load_extension(const Inputs& x, const State& state, const Options& o) {
  const auto shape = check_extend<int64_t>(x, state, o);
  check_positions(kExtend, "position", state.position, shape.rows);
  return {kExtend, x, o, shape, load_state(state, sum_dtype(x.q))};
}

/// use<S>() with the type in which q lies in memory.
template <class Use>
void dispatch_storage(const at::Tensor& q, const Use& use) {
  with_value_errors([&] {
    if (q.scalar_type() == at::kDouble)
      use.template operator()<double>();
    else if (q.scalar_type() == at::kFloat)
      use.template operator()<float>();
    else
      use.template operator()<BFloat16>();
  });
}

// Results are laid out as the caller's tensors and not as their dense copies, so that the meta function is right.
at::Tensor empty_out(const Inputs& x) { return empty_rows(x.q.size(0), x.q.size(1), x.q.size(2), x.v.size(3), x.q); }

at::Tensor empty_segments(const Inputs& x, const Operands& loaded, const Options& o, bool keep, bool extends) {
  return keep ? at::empty(segments_shape<int64_t>(loaded.shape, o, extends), loaded.sums()) : absent(x.q);
}

/// Runs the kernel; what it leaves of the segments becomes zeros, so that the result is a function of the inputs.
template <class S>
void run_forward(kernels::DeltaForward<S>& p, const at::Tensor& segments, bool keep) {
  if (keep) p.segments = segments.mutable_data_ptr<Computed<S>>();
  kernels::delta_forward(p, torch_parallel());
  if (!keep) return;
  const int64_t used = kernels::delta_segments<S>(p);
  segments.narrow(0, used, segments.size(0) - used).zero_();
}

Outputs forward(const Inputs& x, const OptionalTensor& state, const Options& o, bool keep) {
  const Backend chosen = choose_and_report(kOp, x, o);
  if (chosen != Backend::kernel) return run_in_aten(chosen, x, state, o);
  const Operands loaded = load(x, state, o);
  const auto& s = loaded.shape;
  const Outputs y{empty_out(x), at::empty({s.streams, s.heads, s.slots, s.width}, loaded.sums()),
                  empty_segments(x, loaded, o, keep, /*extends=*/false)};
  dispatch_storage(x.q, [&]<class S>() {
    kernels::DeltaForward<S> p;
    loaded.fill(p);
    p.out = mutable_rows<S>(y.out);
    p.last = y.state.mutable_data_ptr<Computed<S>>();
    run_forward(p, y.segments, keep);
  });
  return y;
}

Extended extend(const Inputs& x, const State& state, const Options& o, bool keep) {
  const Backend chosen = choose_and_report(kExtend, x, o);
  if (chosen != Backend::kernel) return run_in_aten(chosen, x, state, o);
  const Operands loaded = load_extension(x, state, o);
  const StateTensors after = loaded.state.uninitialised();
  const Extended y{empty_out(x), after.returned(), empty_segments(x, loaded, o, keep, /*extends=*/true)};
  dispatch_storage(x.q, [&]<class S>() {
    kernels::DeltaForward<S> p;
    loaded.fill(p);
    p.out = mutable_rows<S>(y.out);
    p.state_out = after.mutable_view<Computed<S>>();
    run_forward(p, y.segments, keep);
  });
  return y;
}

/// The gradients of the inputs, and the incoming ones that they come from.
struct KernelGradients {
  at::Tensor dout, segments, dq, dk, dv, dbeta, dlog_alpha;

  KernelGradients(const Inputs& x, const Operands& loaded, const OptionalTensor& given,
                  const OptionalTensor& kept_segments)
      : dout(given ? dense_rows(*given) : zero_rows(x.v)),
        segments(contiguous(kept_segments, loaded.dtype)),
        dq(empty_rows_like(x.q)),
        dk(empty_rows_like(x.k)),
        dv(empty_rows_like(x.v)),
        dbeta(uninitialised_like(loaded.beta)) {
    if (x.log_alpha) dlog_alpha = uninitialised_like(loaded.log_alpha);
  }

  template <class S>
  void fill(kernels::DeltaBackward<S>& p) const {
    using T = Computed<S>;
    p.segments = data<T>(segments);
    p.dout = rows<S>(dout);
    p.dq = mutable_rows<S>(dq);
    p.dk = mutable_rows<S>(dk);
    p.dv = mutable_rows<S>(dv);
    p.dbeta = mutable_rows<T>(dbeta);
    if (dlog_alpha.defined()) p.dlog_alpha = mutable_rows<T>(dlog_alpha);
  }
  Inputs returned(const Inputs& x) const {
    return {dq, dk, dv, dbeta.to(x.beta.scalar_type()),
            x.log_alpha ? OptionalTensor(dlog_alpha.to(x.log_alpha->scalar_type())) : std::nullopt};
  }
};

Gradients backward(const OutputGradients& gradients, const Inputs& x, const OptionalTensor& state,
                   const OptionalTensor& segments, const Options& o) {
  require_kernel(kOp, x);
  const Operands loaded = load(x, state, o);
  check_gradients<int64_t>(gradients, x, loaded.shape, o);
  check_segments<int64_t>(kOp, segments, x, loaded.shape, o, /*extends=*/false);
  const KernelGradients g(x, loaded, gradients.out, segments);
  const at::Tensor dlast = contiguous(gradients.state, loaded.dtype);
  const at::Tensor dstate = state ? uninitialised_like(loaded.state.memory) : at::Tensor();
  dispatch_storage(x.q, [&]<class S>() {
    using T = Computed<S>;
    kernels::DeltaBackward<S> p;
    loaded.fill(p);
    g.fill(p);
    p.dlast = data<T>(dlast);
    p.dstate.memory = mutable_data<T>(dstate);
    kernels::delta_backward(p, torch_parallel());
  });
  return {g.returned(x), state ? OptionalTensor(dstate.to(state->scalar_type())) : std::nullopt};
}

/// The incoming gradients of a stream's state: all of them where there is one.
StateTensors load_gradients(const ExtendedGradients& g, const StateTensors& state) {
  if (!g.any_of_state()) return {};
  const auto load = [](const OptionalTensor& t, const at::Tensor& like) {
    if (!like.defined()) return like;
    return t ? t->contiguous() : at::zeros(like.sizes(), like.options());
  };
  return {load(g.memory, state.memory), load(g.keys, state.keys), load(g.writes, state.writes),
          load(g.log_alpha, state.log_alpha), at::Tensor()};
}

ExtendGradients extend_backward(const ExtendedGradients& gradients, const Inputs& x, const State& state,
                                const OptionalTensor& segments, const Options& o) {
  require_kernel(kExtend, x);
  const Operands loaded = load_extension(x, state, o);
  check_gradients<int64_t>(gradients, x, loaded.shape, o);
  check_segments<int64_t>(kExtend, segments, x, loaded.shape, o, /*extends=*/true);
  const KernelGradients g(x, loaded, gradients.out, segments);
  const StateTensors dafter = load_gradients(gradients, loaded.state);
  StateTensors dbefore = loaded.state.uninitialised();
  dbefore.position = at::Tensor();
  dispatch_storage(x.q, [&]<class S>() {
    using T = Computed<S>;
    kernels::DeltaBackward<S> p;
    loaded.fill(p);
    g.fill(p);
    p.dstate_out = dafter.view<T>();
    p.dstate = dbefore.mutable_view<T>();
    kernels::delta_backward(p, torch_parallel());
  });
  return {g.returned(x), dbefore.returned()};
}

// Other devices have no kernel of their own.
Outputs forward_anywhere(const Inputs& x, const OptionalTensor& state, const Options& o, bool /*keep*/) {
  return run_in_aten(choose_and_report(kOp, x, o), x, state, o);
}
Extended extend_anywhere(const Inputs& x, const State& state, const Options& o, bool /*keep*/) {
  return run_in_aten(choose_and_report(kExtend, x, o), x, state, o);
}

}  // namespace
}  // namespace longspan::ops::delta

TORCH_LIBRARY_IMPL(longspan, CPU, m) {
  using namespace longspan::ops::delta;
  m.impl("delta_memory_forward", TORCH_FN(flat_forward<forward>));
  m.impl("delta_memory_backward", TORCH_FN(flat_backward<backward>));
  m.impl("delta_memory_extend_forward", TORCH_FN(flat_extend<extend>));
  m.impl("delta_memory_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}

TORCH_LIBRARY_IMPL(longspan, CompositeExplicitAutograd, m) {
  using namespace longspan::ops::delta;
  m.impl("delta_memory_forward", TORCH_FN(flat_forward<forward_anywhere>));
  m.impl("delta_memory_extend_forward", TORCH_FN(flat_extend<extend_anywhere>));
}
