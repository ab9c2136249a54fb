// The kinds of diffusion as weights of the hops.
#pragma once

#include <cstdint>
#include <vector>

#include "spectrum_view.h"

namespace longspan::tool {

/// Of every kind with fixed weights, as the operator has them: ppr_iterate and ppr_truncated with `alpha`, heat with
/// `t`, single. (`learned` starts at ppr_iterate; what it became stands in a model.)
std::vector<HopWeights> diffusion_weights(int64_t hops, double alpha, double t);

}  // namespace longspan::tool
