// Backward passes that recompute instead of keeping what a forward pass has formed on its way.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace longspan::models {

/// A function of tensors that may use parameters besides.
using Body = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

/// body(inputs), of which only the inputs are kept: the backward pass calls `body` once more and goes back through that
/// call. Values and gradients have the same bits as those of body(inputs), because the second call finds what the first
/// one found: random generators of the CPU and of the inputs' device, and autocast (on, dtype), which are as before
/// again afterwards. Everything else that `body` reads must not have changed; a changed input or parameter is torch's
/// error.
///
/// `parameters`: every tensor that needs a gradient and that `body` uses without finding it among its inputs; each
/// should be used by this call alone under autocast, whose cache of casts the second call does not share. Outputs that
/// are not floating are constants. One derivative. Without a gradient to compute it is body(inputs) and nothing else.
std::vector<at::Tensor> recomputed(Body body, const std::vector<at::Tensor>& inputs,
                                   const std::vector<at::Tensor>& parameters);

}  // namespace longspan::models
