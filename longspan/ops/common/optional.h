// Tensors that need not be there.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace longspan::ops {

using OptionalTensor = std::optional<at::Tensor>;

/// None for an undefined tensor, as autograd hands over a gradient or a saved tensor that is not there.
inline OptionalTensor optional(const at::Tensor& t) { return t.defined() ? OptionalTensor(t) : std::nullopt; }

}  // namespace longspan::ops
