// The arguments of the operators in bundles, and calls of the operators through the dispatcher.
#pragma once

#include <ATen/ops/empty.h>

#include "longspan/ops/common/check.h"
#include "longspan/ops/common/optional.h"
#include "longspan/ops/delta_memory/delta_memory.h"

namespace longspan::ops::delta {

struct Inputs {
  at::Tensor q, k, v, beta;
  OptionalTensor log_alpha;
};
using Options = DeltaMemoryOptions;
using State = DeltaMemoryState;

/// `segments`: what the kernel keeps for its backward pass (segments.h); absent() where nothing is kept.
struct Outputs {
  at::Tensor out, state, segments;
};
struct Extended {
  at::Tensor out;
  State state;
  at::Tensor segments;
};
/// Of inputs and, where there was one, of the state, in their dtypes; q, k, v in their layouts.
struct Gradients {
  Inputs inputs;
  OptionalTensor state;
};
/// `state.position` is undefined.
struct ExtendGradients {
  Inputs inputs;
  State state;
};
/// The gradients of what the operators return; an absent one is zero.
struct OutputGradients {
  OptionalTensor out, state;
};
struct ExtendedGradients {
  OptionalTensor out, memory, keys, writes, log_alpha;
  bool any_of_state() const { return memory || keys || writes || log_alpha; }
};

/// `keep`: segments.
Outputs call_forward(const Inputs& x, const OptionalTensor& state, const Options& options, bool keep);
/// `segments`: of the forward call, or none. Backend is not read.
Gradients call_backward(const OutputGradients& gradients, const Inputs& x, const OptionalTensor& state,
                        const OptionalTensor& segments, const Options& options);
Extended call_extend(const Inputs& x, const State& state, const Options& options, bool keep);
ExtendGradients call_extend_backward(const ExtendedGradients& gradients, const Inputs& x, const State& state,
                                     const OptionalTensor& segments, const Options& options);

// As the schema has them: what is not there is an empty tensor, [0].

using FlatOutputs = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using FlatGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using FlatExtended = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using FlatExtendGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor,
                                       at::Tensor, at::Tensor, at::Tensor>;

/// `like` has the dtype and device of q.
inline at::Tensor absent(const at::Tensor& like) { return at::empty({0}, like.options().dtype(sum_dtype(like))); }
inline OptionalTensor unless_absent(const at::Tensor& t) {
  return t.defined() && t.dim() == 1 && t.sym_size(0) == 0 ? std::nullopt : optional(t);
}
inline at::Tensor or_absent(const OptionalTensor& t, const at::Tensor& like) { return t ? *t : absent(like); }

/// The argument list of the schema around function(Inputs, state, Options, keep).
template <auto function>
FlatOutputs flat_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                         const OptionalTensor& log_alpha, const OptionalTensor& state, const OptionalTensor& cu_seqlens,
                         bool delta, std::string_view backend, bool keep_segments) {
  const Outputs y = function({q, k, v, beta, log_alpha}, state, Options{delta, cu_seqlens, backend}, keep_segments);
  return {y.out, y.state, y.segments};
}

/// The same around function(OutputGradients, Inputs, state, segments, Options).
template <auto function>
FlatGradients flat_backward(const OptionalTensor& dout, const OptionalTensor& dstate_out, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                            const OptionalTensor& log_alpha, const OptionalTensor& state,
                            const OptionalTensor& cu_seqlens, const OptionalTensor& segments, bool delta) {
  const Gradients g =
      function({dout, dstate_out}, {q, k, v, beta, log_alpha}, state, segments, Options{delta, cu_seqlens});
  const Inputs& x = g.inputs;
  return {x.q, x.k, x.v, x.beta, or_absent(x.log_alpha, q), or_absent(g.state, q)};
}

/// The same around function(Inputs, State, Options, keep).
template <auto function>
FlatExtended flat_extend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                         const OptionalTensor& log_alpha, const at::Tensor& memory, const at::Tensor& keys,
                         const at::Tensor& writes, const OptionalTensor& log_alpha_rows, const at::Tensor& position,
                         const OptionalTensor& cu_seqlens, bool delta, std::string_view backend, bool keep_segments) {
  const Extended y = function({q, k, v, beta, log_alpha}, {memory, keys, writes, log_alpha_rows, position},
                              Options{delta, cu_seqlens, backend}, keep_segments);
  const State& s = y.state;
  return {y.out, s.memory, s.keys, s.writes, or_absent(s.log_alpha, q), s.position, y.segments};
}

/// The same around function(ExtendedGradients, Inputs, State, segments, Options).
template <auto function>
FlatExtendGradients flat_extend_backward(const OptionalTensor& dout, const OptionalTensor& dmemory_out,
                                         const OptionalTensor& dkeys_out, const OptionalTensor& dwrites_out,
                                         const OptionalTensor& dlog_alpha_rows_out, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                                         const OptionalTensor& log_alpha, const at::Tensor& memory,
                                         const at::Tensor& keys, const at::Tensor& writes,
                                         const OptionalTensor& log_alpha_rows, const at::Tensor& position,
                                         const OptionalTensor& cu_seqlens, const OptionalTensor& segments, bool delta) {
  const ExtendGradients g =
      function({dout, dmemory_out, dkeys_out, dwrites_out, dlog_alpha_rows_out}, {q, k, v, beta, log_alpha},
               {memory, keys, writes, log_alpha_rows, position}, segments, Options{delta, cu_seqlens});
  const Inputs& x = g.inputs;
  const State& s = g.state;
  return {x.q, x.k, x.v, x.beta, or_absent(x.log_alpha, q), s.memory, s.keys, s.writes, or_absent(s.log_alpha, q)};
}

}  // namespace longspan::ops::delta
