// The composed form of orthogonal_memory: the equations of docs/ops/orthogonal_memory.md in ATen operators. Exact,
// differentiable any number of times, on every device and floating dtype (16-bit ones are computed in float32, sums in
// float64). It is the backend `reference`, and the fallback where there is no kernel.
#pragma once

#include "longspan/ops/orthogonal_memory/dispatch.h"

namespace longspan::ops::memory {

/// Checks its arguments, as the next one does.
at::Tensor composed(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                    double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source);

/// out, closed, open, count.
Tensors4 composed_extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                         const at::Tensor& open, const at::Tensor& count, double scale,
                         const OptionalTensor& cu_seqlens);

}  // namespace longspan::ops::memory
