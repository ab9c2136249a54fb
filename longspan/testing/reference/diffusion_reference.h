// Slow, obvious diffusion in float64, for tests: one sequence, one head, plain loops over lists of pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/dropout.h"

namespace longspan::testing {

/// One (sequence, head) of `tokens` tokens. Rows of all tokens stand in q and v, those of the past unused.
struct DiffusionReferenceProblem {
  int64_t tokens = 0, first_row = 0;
  int64_t width = 0, value_width = 0, hops = 0;
  double scale = 1;
  std::vector<std::vector<int64_t>> keys;  ///< of each query, in any order, none twice
  std::vector<double> q, k;                ///< [tokens, width]
  std::vector<double> v;                   ///< [tokens, value_width]
  std::vector<double> coefficients;        ///< start, carry_0, source_0, ...
  std::vector<bool> valid;                 ///< [tokens], empty: all
  double invalid_score = 0;                ///< -infinity removes the tokens
  Dropout attention_dropout, hop_dropout;  ///< with the seed of the call
  bool dropout_per_hop = false;
  int64_t row = 0, head = 0, start = 0;  ///< of dropout
  std::vector<int64_t> positions;        ///< [tokens], empty: 0, 1, ...
  std::vector<double> states;            ///< [hops, tokens, value_width]; the rows of the past are read
};

struct DiffusionReferenceForward {
  std::vector<std::vector<double>> weights;  ///< of each query, beside its keys, before dropout
  std::vector<double> lse;                   ///< [tokens]
  std::vector<double> states;                ///< [hops + 1, tokens, value_width], the result last
};

struct DiffusionReferenceBackward {
  std::vector<double> dq, dk, dv;     ///< of all tokens
  std::vector<double> dcoefficients;  ///< [2 hops + 1]
  std::vector<double> dstates;        ///< [hops, tokens, value_width], of the past ones
};

/// What dropout multiplies the weight of a pair in a hop with, and a feature of the state after it.
double attention_factor(const DiffusionReferenceProblem& problem, int64_t hop, int64_t i, int64_t j);
double feature_factor(const DiffusionReferenceProblem& problem, int64_t hop, int64_t i, int64_t feature);

DiffusionReferenceForward diffusion_reference_forward(const DiffusionReferenceProblem& problem);

/// Gradients of sum(dout * out) + sum(dstates_out * new states); dout [tokens, value_width], dstates_out as `states` or
/// empty.
DiffusionReferenceBackward diffusion_reference_backward(const DiffusionReferenceProblem& problem,
                                                        const std::vector<double>& dout,
                                                        const std::vector<double>& dstates_out = {});

}  // namespace longspan::testing
