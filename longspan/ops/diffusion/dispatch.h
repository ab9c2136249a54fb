// The arguments of the operators in bundles, and calls of the operators through the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>

#include "longspan/ops/common/optional.h"
#include "longspan/ops/diffusion/diffusion.h"

namespace longspan::ops::diffuse {

inline constexpr const char* kOp = "diffusion";
inline constexpr const char* kExtendOp = "diffusion_extend";

struct Inputs {
  at::Tensor q, k, v, coefficients;
};
using Patterns = DiffusionPatterns;
using Options = DiffusionOptions;

/// out; lse; the weights and the states that a backward pass takes instead of forming them again, empty ([0]) where
/// none are kept.
struct Outputs {
  at::Tensor out, lse, weights, states;
};
using OutputTuple = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

/// What a forward pass left for the backward pass besides its operands.
struct Kept {
  OptionalTensor weights, states;
};

/// dq, dk and dv in the layouts of q, k and v, and dcoefficients.
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

/// The past of a stream.
struct Past {
  at::Tensor states;
  OptionalTensor positions;
};
/// out, the states of the new tokens, lse.
using Extended = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
/// The gradients of the first two; an absent one is zero.
struct ExtendedGradients {
  OptionalTensor out, states;
};
/// dq, dk, dv, dcoefficients, dstates.
using ExtendGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

/// What a forward pass keeps for the backward pass. How many weights there are is a matter of the patterns' values,
/// which a traced call has not; so the caller says it.
struct Keep {
  int64_t weights = 0;  ///< their number (kept.h); 0: they are not kept; -1: all, of patterns that have_values()
  bool states = false;
};

Outputs call_forward(const Inputs& x, const Patterns& patterns, const Options& options, const Keep& keep);
Gradients call_backward(const at::Tensor& dout, const Inputs& x, const Patterns& patterns, const Kept& kept,
                        const Options& options);
Extended call_extend(const Inputs& x, const Past& past, const Patterns& patterns, const Options& options);
ExtendGradients call_extend_backward(const ExtendedGradients& gradients, const Inputs& x, const Past& past,
                                     const Patterns& patterns, const at::Tensor& new_states, const Options& options);

/// The argument list of the schemas around function(Inputs, Patterns, Options, Keep).
template <auto function>
OutputTuple flat_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& coefficients,
                         at::TensorList patterns, const OptionalTensor& pattern_of, std::optional<double> scale,
                         const OptionalTensor& cu_seqlens, const OptionalTensor& valid, std::string_view padding,
                         double attention_dropout, std::string_view dropout_mode, double hop_dropout,
                         const OptionalTensor& dropout_seed, const OptionalTensor& dropout_origin,
                         std::string_view backward, std::string_view edge_weights, std::string_view backend,
                         int64_t kept_weights, bool keep_states) {
  const Outputs y = function(Inputs{q, k, v, coefficients}, Patterns{patterns.vec(), pattern_of},
                             Options{scale, cu_seqlens, valid, padding, attention_dropout, dropout_mode, hop_dropout,
                                     dropout_seed, dropout_origin, backward, edge_weights, backend},
                             Keep{kept_weights, keep_states});
  return {y.out, y.lse, y.weights, y.states};
}

/// The same around function(Inputs, Patterns, Options).
template <auto function>
at::Tensor flat_diffusion(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& coefficients,
                          at::TensorList patterns, const OptionalTensor& pattern_of, std::optional<double> scale,
                          const OptionalTensor& cu_seqlens, const OptionalTensor& valid, std::string_view padding,
                          double attention_dropout, std::string_view dropout_mode, double hop_dropout,
                          const OptionalTensor& dropout_seed, const OptionalTensor& dropout_origin,
                          std::string_view backward, std::string_view edge_weights, std::string_view backend) {
  return function(Inputs{q, k, v, coefficients}, Patterns{patterns.vec(), pattern_of},
                  Options{scale, cu_seqlens, valid, padding, attention_dropout, dropout_mode, hop_dropout, dropout_seed,
                          dropout_origin, backward, edge_weights, backend});
}

/// The same around function(dout, Inputs, Patterns, Kept, Options).
template <auto function>
Gradients flat_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const at::Tensor& coefficients, at::TensorList patterns, const OptionalTensor& pattern_of,
                        const OptionalTensor& weights, const OptionalTensor& states, std::optional<double> scale,
                        const OptionalTensor& cu_seqlens, const OptionalTensor& valid, std::string_view padding,
                        double attention_dropout, std::string_view dropout_mode, double hop_dropout,
                        const OptionalTensor& dropout_seed, const OptionalTensor& dropout_origin,
                        std::string_view backward, std::string_view edge_weights, std::string_view backend) {
  return function(dout, Inputs{q, k, v, coefficients}, Patterns{patterns.vec(), pattern_of}, Kept{weights, states},
                  Options{scale, cu_seqlens, valid, padding, attention_dropout, dropout_mode, hop_dropout, dropout_seed,
                          dropout_origin, backward, edge_weights, backend});
}

/// The options that a piece of a stream has: no packing and no padding.
inline Options extend_options(std::optional<double> scale, double attention_dropout, std::string_view dropout_mode,
                              double hop_dropout, const OptionalTensor& dropout_seed,
                              const OptionalTensor& dropout_origin, std::string_view backward,
                              std::string_view edge_weights, std::string_view backend) {
  Options options{.scale = scale};
  options.attention_dropout = attention_dropout;
  options.dropout_mode = dropout_mode;
  options.hop_dropout = hop_dropout;
  options.dropout_seed = dropout_seed;
  options.dropout_origin = dropout_origin;
  options.backward = backward;
  options.edge_weights = edge_weights;
  options.backend = backend;
  return options;
}

/// The same around function(Inputs, Past, Patterns, Options).
template <auto function>
Extended flat_extend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& coefficients,
                     const at::Tensor& states, at::TensorList patterns, const OptionalTensor& pattern_of,
                     const OptionalTensor& positions, std::optional<double> scale, double attention_dropout,
                     std::string_view dropout_mode, double hop_dropout, const OptionalTensor& dropout_seed,
                     const OptionalTensor& dropout_origin, std::string_view backward, std::string_view edge_weights,
                     std::string_view backend) {
  return function(Inputs{q, k, v, coefficients}, Past{states, positions}, Patterns{patterns.vec(), pattern_of},
                  extend_options(scale, attention_dropout, dropout_mode, hop_dropout, dropout_seed, dropout_origin,
                                 backward, edge_weights, backend));
}

/// The same around function(ExtendedGradients, Inputs, Past, Patterns, new_states, Options).
template <auto function>
ExtendGradients flat_extend_backward(const OptionalTensor& dout, const OptionalTensor& dnew_states, const at::Tensor& q,
                                     const at::Tensor& k, const at::Tensor& v, const at::Tensor& coefficients,
                                     const at::Tensor& states, at::TensorList patterns,
                                     const OptionalTensor& pattern_of, const OptionalTensor& positions,
                                     const at::Tensor& new_states, std::optional<double> scale,
                                     double attention_dropout, std::string_view dropout_mode, double hop_dropout,
                                     const OptionalTensor& dropout_seed, const OptionalTensor& dropout_origin,
                                     std::string_view backward, std::string_view edge_weights,
                                     std::string_view backend) {
  return function(ExtendedGradients{dout, dnew_states}, Inputs{q, k, v, coefficients}, Past{states, positions},
                  Patterns{patterns.vec(), pattern_of}, new_states,
                  extend_options(scale, attention_dropout, dropout_mode, hop_dropout, dropout_seed, dropout_origin,
                                 backward, edge_weights, backend));
}

}  // namespace longspan::ops::diffuse
