// One attention at one length, ready to be timed: the operator on q, k, v [B, H, N, D] alone, or the whole layer on x
// [B, N, E].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/nn/attention.h"

namespace longspan::tool {

enum class Pass { forward, forward_backward };

std::string to_string(Pass pass);
/// Throws InputError with both names.
Pass pass_from_string(const std::string& text);

/// Throws InputError for a name that is not float32, float64 or bfloat16.
at::ScalarType dtype_from_string(const std::string& text);

struct OperatorShape {
  int64_t batch = 1, heads = 8, length = 1024, head_dim = 64;
  at::ScalarType dtype = at::kFloat;
  bool layer = false;  ///< with projections
};

/// Random inputs and the call. The pass forward runs without recording gradients; forward_backward also computes the
/// gradients of every input and of the attention's parameters that the output depends on.
class OperatorRun {
 public:
  /// Converts `attention` to the shape's dtype. Inputs are standard normal, drawn with `seed`.
  OperatorRun(nn::AttentionPtr attention, const OperatorShape& shape, Pass pass, uint64_t seed);
  void operator()();

 private:
  at::Tensor output();

  nn::AttentionPtr attention_;
  OperatorShape shape_;
  Pass pass_;
  std::vector<at::Tensor> inputs_;  ///< q, k, v; or x
  std::vector<at::Tensor> differentiated_;
  at::Tensor gradient_;
};

/// Operations of one call, by the attention's cost model and, for a layer, its projections: once for forward; three
/// times that for forward_backward (a backward pass is two forward passes' worth of products; what a kernel recomputes
/// is not counted as work done).
double operations(const nn::Attention& attention, const OperatorShape& shape, Pass pass);

/// The machine's own rate: median GFLOP/s of a 2048 x 2048 matrix product in `dtype` with the threads in force.
double matmul_gflops(at::ScalarType dtype);

}  // namespace longspan::tool
