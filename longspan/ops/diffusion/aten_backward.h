// Backward operators of the forms in ATen, for graphs in which such a form is one operator: its forward pass once more,
// recorded, and its gradient.
#pragma once

#include "longspan/ops/diffusion/aten_forms.h"

namespace longspan::ops::diffuse {

Gradients backward_in_aten(Backend chosen, const at::Tensor& dout, const Inputs& x, const Patterns& patterns,
                           const Options& options);
ExtendGradients extend_backward_in_aten(Backend chosen, const ExtendedGradients& gradients, const Inputs& x,
                                        const Past& past, const Patterns& patterns, const Options& options);

}  // namespace longspan::ops::diffuse
