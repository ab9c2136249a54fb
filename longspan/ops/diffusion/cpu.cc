#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <limits>
#include <utility>
#include <vector>

#include "longspan/kernels/diffusion/diffusion.h"
#include "longspan/ops/common/errors.h"
#include "longspan/ops/common/load_dropout.h"
#include "longspan/ops/common/rows.h"
#include "longspan/ops/diffusion/aten_backward.h"
#include "longspan/ops/diffusion/aten_forms.h"
#include "longspan/ops/diffusion/check.h"
#include "longspan/ops/diffusion/dispatch.h"
#include "longspan/ops/diffusion/kept.h"
#include "longspan/ops/diffusion/patterns.h"
#include "longspan/ops/parallel.h"

namespace longspan::ops::diffuse {
namespace {

at::Tensor on_cpu(const OptionalTensor& t) { return t ? t->contiguous() : at::Tensor(); }

// The operands with dense rows and everything that the kernel's views look at, which must outlive them.
class Operands {
 public:
  Operands(const Inputs& x, const Patterns& patterns, const Options& o)
      : Operands(kOp, check<int64_t>(x, patterns, o), x, patterns, o) {
    borders_ = load_borders(kOp, "cu_seqlens", o.cu_seqlens, shape.batch, shape.rows);
    if (o.cu_seqlens)
      patterns_.check_packing(*o.cu_seqlens, shape.rows);
    else
      patterns_.check_sizes(shape.rows);
    valid_ = on_cpu(o.valid);
    invalid_score_ = o.padding == "remove" ? -std::numeric_limits<double>::infinity() : kInvalidScore;
  }
  Operands(const Inputs& x, const Past& past, const Patterns& patterns, const Options& o)
      : Operands(kExtendOp, check_extend<int64_t>(x, past, patterns, o), x, patterns, o) {
    borders_ = load_borders(kExtendOp, "cu_seqlens", std::nullopt, shape.batch, shape.keys);
    patterns_.check_sizes(shape.keys);
    positions_ = on_cpu(past.positions);
  }

  template <class S>
  void fill(kernels::DiffusionParams<S>& p) const {
    p.sequences = shape.sequences;
    p.heads = shape.heads;
    p.key_heads = shape.key_heads;
    p.width = shape.width;
    p.value_width = shape.value_width;
    p.hops = shape.hops;
    p.rows = borders_.segments;
    p.first_row = shape.keys - shape.rows;
    p.patterns = views_.data();
    p.pattern_of = patterns_.of().data();
    p.scale = scale_;
    p.coefficients = coefficients_.const_data_ptr<Computed<S>>();
    p.coefficient_head_stride = coefficients_.size(0) == 1 ? 0 : coefficients_.size(1);
    if (valid_.defined()) {
      p.valid = valid_.const_data_ptr<bool>();
      p.invalid_score = invalid_score_;
    }
    p.attention_dropout = attention_dropout_;
    p.hop_dropout = hop_dropout_;
    p.dropout_per_hop = dropout_per_hop_;
    if (origin_.defined()) p.dropout_origin = origin_.const_data_ptr<int64_t>();
    if (positions_.defined()) p.positions = positions_.const_data_ptr<int64_t>();
    p.edge_weights = edge_weights_;
    p.q = rows<S>(q_);
    p.k = rows<S>(k_);
    p.v = rows<S>(v_);
  }

  int64_t weight_count() const { return shape.heads * patterns_.weights(shape.keys - shape.rows); }

  const Shape<int64_t> shape;

 private:
  Operands(const char* op, const Shape<int64_t>& s, const Inputs& x, const Patterns& patterns, const Options& o)
      : shape(s),
        patterns_(op, patterns, s.sequences, /*again=*/std::string_view(op) == kOp),
        q_(dense_rows(x.q)),
        k_(dense_rows(x.k)),
        v_(dense_rows(x.v)),
        coefficients_(x.coefficients.contiguous()),
        origin_(on_cpu(o.dropout_origin)),
        scale_(o.scale.value_or(default_scale(s.width))),
        attention_dropout_(load_dropout(o.attention_dropout, o.dropout_seed)),
        hop_dropout_(load_dropout(o.hop_dropout, o.dropout_seed)),
        dropout_per_hop_(o.dropout_mode == "per_hop"),
        edge_weights_(o.edge_weights == "stored" ? kernels::EdgeWeights::stored : kernels::EdgeWeights::recomputed) {
    const bool past = s.keys > s.rows;
    for (int64_t i = 0; i < patterns_.count(); ++i)
      views_.push_back(
          {patterns_[i].view(), patterns_[i].transposed(), past ? nullptr : &patterns_.loaded(i).layout()});
  }

  LoadedPatterns patterns_;
  std::vector<kernels::DiffusionPattern> views_;
  at::Tensor q_, k_, v_, coefficients_, origin_, valid_, positions_;
  Borders borders_;
  double scale_, invalid_score_ = 0;
  Dropout attention_dropout_, hop_dropout_;
  bool dropout_per_hop_;
  kernels::EdgeWeights edge_weights_;
};

// The log-sum-exp [B, H, N] as rows of width 1.
template <class T, class Tensor>
RowsView<T> lse_rows(T* data, const Tensor& lse) {
  return {data, lse.stride(0), lse.stride(1), lse.stride(2)};
}

// Calls run<S>() for the type that q is stored as.
template <class Run>
void with_type(const at::Tensor& q, const Run& run) {
  with_value_errors([&] {
    if (q.scalar_type() == at::kDouble)
      run.template operator()<double>();
    else if (q.scalar_type() == at::kFloat)
      run.template operator()<float>();
    else
      run.template operator()<BFloat16>();
  });
}

kernels::DiffusionBackwardStates backward_states(std::string_view name, bool has_states) {
  if (name == "recompute_quadratic") return kernels::DiffusionBackwardStates::recompute_quadratic;
  // A graph that was traced without the gradient in view may not have kept them.
  return name == "store_all" && has_states ? kernels::DiffusionBackwardStates::store_all
                                           : kernels::DiffusionBackwardStates::recompute_slices;
}

at::TensorOptions sums(const Inputs& x) { return x.q.options().dtype(sum_dtype(x.q)); }

// out is laid out as the caller's q and not as its dense copy: so says the meta function.
at::Tensor empty_out(const Inputs& x) { return empty_rows(x.q.size(0), x.q.size(1), x.q.size(2), x.v.size(3), x.q); }

Outputs forward(const Inputs& x, const Patterns& patterns, const Options& o, const Keep& keep) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  report_backend(kOp, o.backend, chosen, x.q);
  if (chosen != Backend::kernel) {
    const AtenOutputs y = run_in_aten(chosen, x, patterns, o);
    return {y.out, y.lse, none(x), none(x)};
  }
  const Operands operands(x, patterns, o);
  const auto& s = operands.shape;
  Outputs y{empty_out(x), at::empty({s.batch, s.heads, s.rows}, sums(x)), none(x), none(x)};
  if (keep.weights != 0) {
    const int64_t count = operands.weight_count();
    check_kept_weights(keep.weights, count);
    y.weights = at::empty({count}, sums(x));
  }
  if (keep.states) y.states = at::empty(states_shape(s, o), sums(x));
  with_type(x.q, [&]<class S>() {
    kernels::DiffusionForward<S> p;
    operands.fill(p);
    p.out = mutable_rows<S>(y.out);
    p.lse = lse_rows(y.lse.mutable_data_ptr<Computed<S>>(), y.lse);
    if (!is_none(y.weights)) p.weights = y.weights.mutable_data_ptr<Computed<S>>();
    if (!is_none(y.states)) p.states = y.states.mutable_data_ptr<Computed<S>>();
    kernels::diffusion_forward(p, torch_parallel());
  });
  return y;
}

Gradients backward(const at::Tensor& dout, const Inputs& x, const Patterns& patterns, const Kept& kept,
                   const Options& o) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  const Operands operands(x, patterns, o);
  check_backward(operands.shape, dout, x);
  if (chosen != Backend::kernel) return backward_in_aten(chosen, dout, x, patterns, o);
  check_kept(operands.shape, kept, operands.weight_count(), o, x);
  const at::Tensor dense_dout = dense_rows(dout);
  const at::Tensor weights = on_cpu(kept.weights), states = on_cpu(kept.states);
  const at::Tensor dq = empty_rows_like(x.q), dk = empty_rows_like(x.k), dv = empty_rows_like(x.v);
  const at::Tensor dcoefficients = at::empty(x.coefficients.sizes(), x.coefficients.options());
  with_type(x.q, [&]<class S>() {
    using T = Computed<S>;
    kernels::DiffusionBackward<S> p;
    operands.fill(p);
    p.backward = backward_states(o.backward, states.defined());
    p.dout = rows<S>(dense_dout);
    if (weights.defined()) p.weights = weights.const_data_ptr<T>();
    if (states.defined()) p.states = states.const_data_ptr<T>();
    p.dq = mutable_rows<S>(dq);
    p.dk = mutable_rows<S>(dk);
    p.dv = mutable_rows<S>(dv);
    p.dcoefficients = dcoefficients.mutable_data_ptr<T>();
    kernels::diffusion_backward(p, torch_parallel());
  });
  return {dq, dk, dv, dcoefficients};
}

// [B, H, K, M, Dv]: states of the past, and room for or those of the new tokens behind them.
at::Tensor joined_states(const at::Tensor& past, const at::Tensor& added) {
  return at::cat({past, added}, 3).contiguous();
}

Extended extend(const Inputs& x, const Past& past, const Patterns& patterns, const Options& o) {
  const Backend chosen = choose_backend(kExtendOp, o.backend, x.q);
  report_backend(kExtendOp, o.backend, chosen, x.q);
  if (chosen != Backend::kernel) {
    const AtenOutputs y = run_extend_in_aten(chosen, x, past, patterns, o);
    return {y.out, y.states, y.lse};
  }
  const Operands operands(x, past, patterns, o);
  const auto& s = operands.shape;
  const at::Tensor out = empty_out(x), lse = at::empty({s.batch, s.heads, s.rows}, sums(x));
  const at::Tensor states = at::empty({s.batch, s.heads, s.hops, s.keys, s.value_width}, sums(x));
  states.narrow(3, 0, s.keys - s.rows).copy_(past.states);
  with_type(x.q, [&]<class S>() {
    kernels::DiffusionForward<S> p;
    operands.fill(p);
    p.out = mutable_rows<S>(out);
    p.lse = lse_rows(lse.mutable_data_ptr<Computed<S>>(), lse);
    p.states = states.mutable_data_ptr<Computed<S>>();
    kernels::diffusion_forward(p, torch_parallel());
  });
  return {out, states.narrow(3, s.keys - s.rows, s.rows).clone(at::MemoryFormat::Contiguous), lse};
}

ExtendGradients extend_backward(const ExtendedGradients& g, const Inputs& x, const Past& past, const Patterns& patterns,
                                const at::Tensor& new_states, const Options& o) {
  const Backend chosen = choose_backend(kExtendOp, o.backend, x.q);
  const Operands operands(x, past, patterns, o);
  const auto& s = operands.shape;
  check_extend_backward(s, g, x, new_states);
  if (chosen != Backend::kernel) return extend_backward_in_aten(chosen, g, x, past, patterns, o);
  const at::Tensor dout =
      g.out ? dense_rows(*g.out) : at::zeros({s.batch, s.heads, s.rows, s.value_width}, x.q.options());
  const at::Tensor states = joined_states(past.states, new_states);
  at::Tensor dstates_out;
  if (g.states) dstates_out = joined_states(at::zeros(past.states.sizes(), past.states.options()), *g.states);
  const at::Tensor dstates = at::empty(states.sizes(), states.options());
  const at::Tensor dq = empty_rows_like(x.q), dk = empty_rows_like(x.k), dv = empty_rows_like(x.v);
  const at::Tensor dcoefficients = at::empty(x.coefficients.sizes(), x.coefficients.options());
  with_type(x.q, [&]<class S>() {
    using T = Computed<S>;
    kernels::DiffusionBackward<S> p;
    operands.fill(p);
    p.backward = backward_states(o.backward, true);
    p.dout = rows<S>(dout);
    p.states = states.const_data_ptr<T>();
    if (dstates_out.defined()) p.dstates_out = dstates_out.const_data_ptr<T>();
    p.dstates = dstates.mutable_data_ptr<T>();
    p.dq = mutable_rows<S>(dq);
    p.dk = mutable_rows<S>(dk);
    p.dv = mutable_rows<S>(dv);
    p.dcoefficients = dcoefficients.mutable_data_ptr<T>();
    kernels::diffusion_backward(p, torch_parallel());
  });
  return {dq, dk, dv, dcoefficients, dstates.narrow(3, 0, s.keys - s.rows).clone(at::MemoryFormat::Contiguous)};
}

}  // namespace

int64_t count_weights(const Inputs& x, const Patterns& given, int64_t sequences) {
  return x.q.size(1) * LoadedPatterns(kOp, given, sequences, /*again=*/true).weights();
}

}  // namespace longspan::ops::diffuse

TORCH_LIBRARY_IMPL(longspan, CPU, m) {
  using namespace longspan::ops::diffuse;
  m.impl("diffusion_forward", TORCH_FN(flat_forward<forward>));
  m.impl("diffusion_backward", TORCH_FN(flat_backward<backward>));
  m.impl("diffusion_extend", TORCH_FN(flat_extend<extend>));
  m.impl("diffusion_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}
