// Calls of the operators through the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <tuple>

#include "longspan/ops/common/optional.h"

namespace longspan::ops::memory {

using Tensors3 = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Tensors4 = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using Tensors5 = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor call_forward(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, std::string_view form,
                        double scale, const OptionalTensor& cu_seqlens, const OptionalTensor& cu_seqlens_source,
                        std::string_view backend);

/// dq and dm in the layouts of q and m, and dbasis.
Tensors3 call_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis,
                       std::string_view form, double scale, const OptionalTensor& cu_seqlens,
                       const OptionalTensor& cu_seqlens_source);

/// out, closed, open, count.
Tensors4 call_extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, const at::Tensor& closed,
                     const at::Tensor& open, const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens,
                     std::string_view backend);

/// dq, dm, dbasis, dclosed, dopen. An absent incoming gradient is zero.
Tensors5 call_extend_backward(const OptionalTensor& dout, const OptionalTensor& dclosed_out,
                              const OptionalTensor& dopen_out, const at::Tensor& q, const at::Tensor& m,
                              const at::Tensor& basis, const at::Tensor& closed, const at::Tensor& open,
                              const at::Tensor& count, double scale, const OptionalTensor& cu_seqlens);

}  // namespace longspan::ops::memory
