// Shapes and layouts of the results without their values, for tracing and compilation.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "longspan/ops/common/rows.h"
#include "longspan/ops/diffusion/check.h"
#include "longspan/ops/diffusion/dispatch.h"
#include "longspan/ops/diffusion/kept.h"
#include "longspan/ops/diffusion/patterns.h"

namespace longspan::ops::diffuse {
namespace {

using SymShape = Shape<c10::SymInt>;

at::Tensor empty_like_contiguous(const at::Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); }

at::TensorOptions sums(const Inputs& x) { return x.q.options().dtype(sum_dtype(x.q)); }

at::Tensor empty_out(const SymShape& s, const Inputs& x) {
  return empty_rows(s.batch, s.heads, s.rows, s.value_width, x.q);
}

Outputs forward(const Inputs& x, const Patterns& patterns, const Options& o, const Keep& keep) {
  const Backend chosen = choose_backend(kOp, o.backend, x.q);
  const auto s = check<c10::SymInt>(x, patterns, o);
  Outputs y{empty_out(s, x), at::empty_symint({s.batch, s.heads, s.rows}, sums(x)), none(x), none(x)};
  if (chosen != Backend::kernel) return y;
  if (keep.weights != 0) {
    const bool counted = keep.weights > 0;
    TORCH_CHECK_VALUE(counted || have_values(patterns), kOp,
                      ": kept_weights: expected a number where patterns have no values, got ", keep.weights);
    y.weights = at::empty(
        {counted ? keep.weights : count_weights(x, patterns, s.sequences.guard_int(__FILE__, __LINE__))}, sums(x));
  }
  if (keep.states) y.states = at::empty_symint(states_shape(s, o), sums(x));
  return y;
}

Gradients backward(const at::Tensor& dout, const Inputs& x, const Patterns& patterns, const Kept& kept,
                   const Options& o) {
  choose_backend(kOp, o.backend, x.q);
  const auto s = check<c10::SymInt>(x, patterns, o);
  check_backward(s, dout, x);
  return {empty_rows_like(x.q), empty_rows_like(x.k), empty_rows_like(x.v), empty_like_contiguous(x.coefficients)};
}

Extended extend(const Inputs& x, const Past& past, const Patterns& patterns, const Options& o) {
  choose_backend(kExtendOp, o.backend, x.q);
  const auto s = check_extend<c10::SymInt>(x, past, patterns, o);
  return {empty_out(s, x), at::empty_symint({s.batch, s.heads, s.hops, s.rows, s.value_width}, sums(x)),
          at::empty_symint({s.batch, s.heads, s.rows}, sums(x))};
}

ExtendGradients extend_backward(const ExtendedGradients& gradients, const Inputs& x, const Past& past,
                                const Patterns& patterns, const at::Tensor& new_states, const Options& o) {
  choose_backend(kExtendOp, o.backend, x.q);
  const auto s = check_extend<c10::SymInt>(x, past, patterns, o);
  check_extend_backward(s, gradients, x, new_states);
  return {empty_rows_like(x.q), empty_rows_like(x.k), empty_rows_like(x.v), empty_like_contiguous(x.coefficients),
          empty_like_contiguous(past.states)};
}

}  // namespace
}  // namespace longspan::ops::diffuse

TORCH_LIBRARY_IMPL(longspan, Meta, m) {
  using namespace longspan::ops::diffuse;
  m.impl("diffusion_forward", TORCH_FN(flat_forward<forward>));
  m.impl("diffusion_backward", TORCH_FN(flat_backward<backward>));
  m.impl("diffusion_extend", TORCH_FN(flat_extend<extend>));
  m.impl("diffusion_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}
