// Rows of a state that grow without copying those that are there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace longspan::nn {

/// `old` with `added` behind it along `dim`, as at::cat gives it. Where nothing records gradients and both are on the
/// CPU, the result has room behind its rows, up to half as much again, and the next call writes into that instead of
/// copying: so n rows added one by one cost O(n). A tensor never changes: room is written into by the first that asks,
/// and everybody else who goes on from the same rows gets a copy. Shapes but `dim`, dtypes and devices are the same.
at::Tensor append_rows(const at::Tensor& old, const at::Tensor& added, int64_t dim);

}  // namespace longspan::nn
