// Inputs of diffusion for tests, with the reference's answer and the error bound of the arithmetic.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "longspan/base/aligned.h"
#include "longspan/base/parallel.h"
#include "longspan/kernels/diffusion/diffusion.h"
#include "longspan/patterns/pattern.h"
#include "longspan/testing/reference/diffusion_reference.h"

namespace longspan::testing {

/// Shape and options. Sequence s has the pattern patterns[pattern_of[s]].
struct DiffusionShape {
  std::vector<patterns::Pattern> patterns;
  std::vector<int64_t> pattern_of = {0};
  bool packed = false;
  int64_t heads = 1;
  int64_t key_heads = 0;  ///< 0: heads
  int64_t width = 4, value_width = 5, hops = 3;
  int64_t first_row = 0;
  bool own_coefficients = false;  ///< each head has its own
  std::vector<bool> valid;        ///< [rows of all sequences], empty: all
  double invalid_score = -std::numeric_limits<double>::infinity();
  double attention_dropout = 0, hop_dropout = 0;
  bool dropout_per_hop = false;
  std::vector<int64_t> dropout_origin, positions;
  kernels::EdgeWeights edge_weights = kernels::EdgeWeights::stored;
  kernels::DiffusionBackwardStates backward = kernels::DiffusionBackwardStates::recompute_slices;
  bool laid_out = false;      ///< calls are given layouts
  bool keep_weights = false;  ///< the forward gives them to the backward pass
  double gain = 1;            ///< of queries
  uint64_t seed = 1;
};

/// Numbers [row][head][width] of all sequences, one after the other.
template <class S>
struct DiffusionTensor {
  int64_t rows = 0, heads = 0, width = 0, sequence_rows = 0;
  std::vector<S> data;

  DiffusionTensor() = default;
  DiffusionTensor(int64_t rows, int64_t heads, int64_t width, int64_t sequence_rows);
  RowsView<S> view() { return {data.data(), sequence_rows * heads * width, width, heads * width}; }
  RowsView<const S> const_view() const { return {data.data(), sequence_rows * heads * width, width, heads * width}; }
  S* row(int64_t r, int64_t h) { return data.data() + (r * heads + h) * width; }
  const S* row(int64_t r, int64_t h) const { return data.data() + (r * heads + h) * width; }
  void fill_random(uint64_t seed, double gain = 1);
};

template <class S>
class DiffusionCase {
 public:
  using T = Computed<S>;

  explicit DiffusionCase(const DiffusionShape& shape);

  DiffusionShape shape;
  DiffusionTensor<S> q, k, v, out, dout, dq, dk, dv;
  DiffusionTensor<T> lse;
  std::vector<T> coefficients, dcoefficients, states, dstates_out, dstates;

  void forward(const Parallel& parallel = SerialParallel());
  void backward(const Parallel& parallel = SerialParallel());

  int64_t sequences() const { return static_cast<int64_t>(shape.pattern_of.size()); }
  int64_t key_heads() const { return shape.key_heads == 0 ? shape.heads : shape.key_heads; }
  const patterns::Pattern& pattern(int64_t s) const;
  int64_t tokens(int64_t s) const { return pattern(s).size(); }
  /// First row of a sequence in k, and in q, v and out.
  int64_t key_row(int64_t s) const { return starts_[static_cast<std::size_t>(s)]; }
  int64_t row(int64_t s) const { return key_row(s) - s * shape.first_row; }
  /// Where a state's row of token i stands in `states`.
  int64_t state(int64_t s, int64_t h, int64_t hop, int64_t i) const;
  DiffusionReferenceProblem reference(int64_t s, int64_t h) const;

 private:
  void set(kernels::DiffusionParams<S>& params) const;

  std::vector<int64_t> starts_;
  std::vector<kernels::DiffusionLayout> layouts_;
  std::vector<kernels::DiffusionPattern> views_;
  AlignedBuffer<T> weights_;
  std::vector<char> valid_;
};

/// Runs forward and backward and expects every result of every sequence and head within its bound.
template <class S>
void expect_matches_reference(const DiffusionShape& shape, const Parallel& parallel = SerialParallel());

}  // namespace longspan::testing
