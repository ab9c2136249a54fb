// Sums whose bits depend on the numbers alone.
#pragma once

#include <ATen/core/Tensor.h>

namespace longspan::train {

/// Sum of all elements (float32 or float64), respectively of their squares, in float64: chunks of 4,096 elements cut at
/// fixed places, eight interleaved partial sums a chunk, chunks added in order.
double ordered_sum(const at::Tensor& values);
double ordered_sum_of_squares(const at::Tensor& values);

}  // namespace longspan::train
