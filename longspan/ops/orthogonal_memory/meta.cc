// Shapes and layouts of the results without their values, for tracing and compilation.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "longspan/ops/orthogonal_memory/check.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {
namespace {

at::Tensor empty_like(const at::Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); }

at::Tensor empty_visible(const State& state) {
  return state.visible ? empty_like(*state.visible) : at::empty({0}, state.count.options().dtype(at::kDouble));
}

at::Tensor forward(const Inputs& x, std::string_view form, const Options& options) {
  choose_backend(kOp, options.backend, x.q);
  check<c10::SymInt>(x, parse_form(form), options);
  return empty_rows_like(x.q);
}

Gradients backward(const at::Tensor& dout, const Inputs& x, std::string_view form, const Options& options) {
  check<c10::SymInt>(x, parse_form(form), options);
  check_dout(kOp, dout, x.q);
  return {empty_rows_like(x.q), empty_rows_like(x.m), empty_like(x.basis)};
}

Extended extend(const Inputs& x, const State& state, const Options& options) {
  choose_backend(kExtend, options.backend, x.q);
  check_extend<c10::SymInt>(x, state, options);
  return {empty_rows_like(x.q), empty_like(state.closed), empty_like(state.open), empty_like(state.count),
          empty_visible(state)};
}

ExtendGradients extend_backward(const ExtendedGradients& gradients, const Inputs& x, const State& state,
                                const Options& options) {
  const auto shape = check_extend<c10::SymInt>(x, state, options);
  check_extended_gradients(gradients, x, shape, options);
  return {empty_rows_like(x.q),     empty_rows_like(x.m),   empty_like(x.basis),
          empty_like(state.closed), empty_like(state.open), empty_visible(state)};
}

}  // namespace
}  // namespace longspan::ops::memory

TORCH_LIBRARY_IMPL(longspan, Meta, m) {
  using namespace longspan::ops::memory;
  m.impl("orthogonal_memory", TORCH_FN(flat_forward<forward>));
  m.impl("orthogonal_memory_backward", TORCH_FN(flat_backward<backward>));
  m.impl("orthogonal_memory_extend", TORCH_FN(flat_extend<extend>));
  m.impl("orthogonal_memory_extend_backward", TORCH_FN(flat_extend_backward<extend_backward>));
}
