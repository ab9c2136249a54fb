#include "longspan/ops/orthogonal_memory/dispatch.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace longspan::ops {
namespace memory {
namespace {

// `flat` gives the signature; which function it would call does not matter.
template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char* name, Signature& /*flat*/) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace

at::Tensor call_forward(const Inputs& x, std::string_view form, const Options& o) {
  static const auto op = find("longspan::orthogonal_memory", flat_forward<call_forward>);
  return op.call(x.q, x.m, x.basis, form, o.scale, o.cu_seqlens, o.cu_seqlens_source, o.window, o.accumulator,
                 o.dropout, o.dropout_seed, o.backend);
}

Gradients call_backward(const at::Tensor& dout, const Inputs& x, std::string_view form, const Options& o) {
  static const auto op = find("longspan::orthogonal_memory_backward", flat_backward<call_backward>);
  return op.call(dout, x.q, x.m, x.basis, form, o.scale, o.cu_seqlens, o.cu_seqlens_source, o.window, o.dropout,
                 o.dropout_seed);
}

Extended call_extend(const Inputs& x, const State& s, const Options& o) {
  static const auto op = find("longspan::orthogonal_memory_extend", flat_extend<call_extend>);
  return op.call(x.q, x.m, x.basis, s.closed, s.open, s.count, o.scale, o.cu_seqlens, s.visible, o.window,
                 o.accumulator, o.dropout, o.dropout_seed, o.backend);
}

ExtendGradients call_extend_backward(const ExtendedGradients& g, const Inputs& x, const State& s, const Options& o) {
  static const auto op =
      find("longspan::orthogonal_memory_extend_backward", flat_extend_backward<call_extend_backward>);
  return op.call(g.out, g.closed, g.open, g.visible, x.q, x.m, x.basis, s.closed, s.open, s.count, o.scale,
                 o.cu_seqlens, s.visible, o.window, o.accumulator, o.dropout, o.dropout_seed);
}

}  // namespace memory

at::Tensor orthogonal_memory(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                             const OrthogonalMemoryOptions& options) {
  return memory::call_forward({q, m, basis}, form, options);
}

std::tuple<at::Tensor, OrthogonalMemoryState> orthogonal_memory_extend(const at::Tensor& q, const at::Tensor& m,
                                                                       const at::Tensor& basis,
                                                                       const OrthogonalMemoryState& state,
                                                                       const OrthogonalMemoryOptions& options) {
  auto [out, closed, open, count, visible] = memory::call_extend({q, m, basis}, state, options);
  OrthogonalMemoryState after{closed, open, count};
  if (options.window > 0) after.visible = visible;
  return {out, after};
}

}  // namespace longspan::ops
