// Error bounds of the diffusion kernel for one (sequence, head), from the number of operations and the size of the
// operands, before results are rounded to their storage type.
#pragma once

#include <vector>

#include "longspan/testing/reference/diffusion_reference.h"

namespace longspan::testing {

struct DiffusionBounds {
  double out, lse, dq, dk, dv, dcoefficient, dstates;
};

/// T: the type that is computed with.
template <class T>
DiffusionBounds diffusion_bounds(const DiffusionReferenceProblem& problem, const DiffusionReferenceForward& forward,
                                 const std::vector<double>& dout, const std::vector<double>& dstates_out);

}  // namespace longspan::testing
