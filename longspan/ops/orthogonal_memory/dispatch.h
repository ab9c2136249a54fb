// The arguments of the operators in bundles, and calls of the operators through the dispatcher.
#pragma once

#include "longspan/ops/common/optional.h"
#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"

namespace longspan::ops::memory {

struct Inputs {
  at::Tensor q, m, basis;
};
using Options = OrthogonalMemoryOptions;
using State = OrthogonalMemoryState;

/// dq and dm in the layouts of q and m, and dbasis.
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
/// out, closed, open, count, visible; the last is empty ([0]) without a window.
using Extended = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
/// The gradients of what orthogonal_memory_extend returns; an absent one is zero.
struct ExtendedGradients {
  OptionalTensor out, closed, open, visible;
};
/// dq, dm, dbasis, dclosed, dopen, dvisible; the last is empty ([0]) without a window.
using ExtendGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor call_forward(const Inputs& x, std::string_view form, const Options& options);
/// `options` without accumulator and backend: the gradient is that of exact sums, and a matter of the kernel.
Gradients call_backward(const at::Tensor& dout, const Inputs& x, std::string_view form, const Options& options);
Extended call_extend(const Inputs& x, const State& state, const Options& options);
ExtendGradients call_extend_backward(const ExtendedGradients& gradients, const Inputs& x, const State& state,
                                     const Options& options);

/// The argument list of the schema around function(Inputs, form, Options).
template <auto function>
at::Tensor flat_forward(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                        double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                        int64_t window, std::string_view accumulator, double dropout,
                        const OptionalTensor& dropout_seed, std::string_view backend) {
  return function(Inputs{q, m, basis}, form,
                  Options{scale, cu_seqlens, cu_seqlens_source, window, accumulator, dropout, dropout_seed, backend});
}

/// The same around function(dout, Inputs, form, Options).
template <auto function>
Gradients flat_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                        std::string_view form, double scale, const OptionalTensor& cu_seqlens,
                        const OptionalTensor& cu_seqlens_source, int64_t window, double dropout,
                        const OptionalTensor& dropout_seed) {
  Options options{scale, cu_seqlens, cu_seqlens_source, window};
  options.dropout = dropout;
  options.dropout_seed = dropout_seed;
  return function(dout, Inputs{q, m, basis}, form, options);
}

/// The same around function(Inputs, State, Options).
template <auto function>
Extended flat_extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                     const at::Tensor& open, const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens,
                     const OptionalTensor& visible, int64_t window, std::string_view accumulator, double dropout,
                     const OptionalTensor& dropout_seed, std::string_view backend) {
  return function(Inputs{q, m, basis}, State{closed, open, count, visible},
                  Options{scale, cu_seqlens, std::nullopt, window, accumulator, dropout, dropout_seed, backend});
}

/// The same around function(ExtendedGradients, Inputs, State, Options).
template <auto function>
ExtendGradients flat_extend_backward(const OptionalTensor& dout, const OptionalTensor& dclosed_out,
                                     const OptionalTensor& dopen_out, const OptionalTensor& dvisible_out,
                                     const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                                     const at::Tensor& closed, const at::Tensor& open, const at::Tensor& count,
                                     double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& visible,
                                     int64_t window, std::string_view accumulator, double dropout,
                                     const OptionalTensor& dropout_seed) {
  return function(ExtendedGradients{dout, dclosed_out, dopen_out, dvisible_out}, Inputs{q, m, basis},
                  State{closed, open, count, visible},
                  Options{scale, cu_seqlens, std::nullopt, window, accumulator, dropout, dropout_seed});
}

}  // namespace longspan::ops::memory
