// Shapes and layouts of the results without their values, for tracing and compilation.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "longspan/ops/delta_memory/check.h"
#include "longspan/ops/delta_memory/segments.h"

namespace longspan::ops::delta {
namespace {

using SymShape = Shape<c10::SymInt>;

at::Tensor empty_like(const at::Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); }
OptionalTensor empty_like(const OptionalTensor& t) { return t ? optional(empty_like(*t)) : std::nullopt; }

at::TensorOptions sums(const Inputs& x) { return x.q.options().dtype(sum_dtype(x.q)); }

at::Tensor empty_out(const Inputs& x, const SymShape& s) { return empty_rows(s.batch, s.heads, s.rows, s.width, x.q); }

at::Tensor empty_segments(const Inputs& x, const SymShape& s, const Options& o, bool keep, bool extends) {
  return keep ? at::empty_symint(segments_shape<c10::SymInt>(s, o, extends), sums(x)) : absent(x.q);
}

Outputs forward(const Inputs& x, const OptionalTensor& state, const Options& o, bool keep) {
  keep = choose(kOp, x, o) == Backend::kernel && keep;
  const auto s = check<c10::SymInt>(x, state, o);
  return {empty_out(x, s), at::empty_symint({s.streams, s.heads, s.slots, s.width}, sums(x)),
          empty_segments(x, s, o, keep, /*extends=*/false)};
}

Inputs input_gradients(const Inputs& x) {
  return {empty_rows_like(x.q), empty_rows_like(x.k), empty_rows_like(x.v), empty_like(x.beta),
          empty_like(x.log_alpha)};
}

Gradients backward(const OutputGradients& gradients, const Inputs& x, const OptionalTensor& state,
                   const OptionalTensor& segments, const Options& o) {
  const auto s = check<c10::SymInt>(x, state, o);
  check_gradients<c10::SymInt>(gradients, x, s, o);
  check_segments<c10::SymInt>(kOp, segments, x, s, o, /*extends=*/false);
  return {input_gradients(x), empty_like(state)};
}

Extended extend(const Inputs& x, const State& state, const Options& o, bool keep) {
  keep = choose(kExtend, x, o) == Backend::kernel && keep;
  const auto s = check_extend<c10::SymInt>(x, state, o);
  return {empty_out(x, s),
          {empty_like(state.memory), empty_like(state.keys), empty_like(state.writes), empty_like(state.log_alpha),
           empty_like(state.position)},
          empty_segments(x, s, o, keep, /*extends=*/true)};
}

ExtendGradients extend_backward(const ExtendedGradients& gradients, const Inputs& x, const State& state,
                                const OptionalTensor& segments, const Options& o) {
  const auto s = check_extend<c10::SymInt>(x, state, o);
  check_gradients<c10::SymInt>(gradients, x, s, o);
  check_segments<c10::SymInt>(kExtend, segments, x, s, o, /*extends=*/true);
  return {input_gradients(x),
          {empty_like(state.memory), empty_like(state.keys), empty_like(state.writes), empty_like(state.log_alpha),
           at::Tensor()}};
}

}  // namespace
}  // namespace longspan::ops::delta

TORCH_LIBRARY_IMPL(longspan, Meta, m) {
  using namespace longspan::ops::delta;
  m.impl("delta_memory_forward", TORCH_FN(flat_forward<forward>));
  m.impl("delta_memory_backward", TORCH_FN(flat_backward<backward>));
  m.impl("delta_memory_extend_forward", TORCH_FN(flat_extend<extend>));
  m.impl("delta_memory_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}
