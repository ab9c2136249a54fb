// Small sets of configurations in which every two settings meet.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace longspan {

/// One value index for each factor; kUnset where none is chosen yet.
using Assignment = std::vector<std::size_t>;
inline constexpr std::size_t kUnset = static_cast<std::size_t>(-1);

/// Assignments of factors with `sizes[f]` values each in which every two values of different factors stand together at
/// least once, as far as `allowed` lets them; greedy (after Cohen et al., "The AETG system", 1997), so few but not the
/// fewest, and always the same. `allowed` judges assignments with unset factors too: false means that no setting of
/// those can help. The first one has value 0 throughout, so that must be allowed.
std::vector<Assignment> pairwise(const std::vector<std::size_t>& sizes,
                                 const std::function<bool(const Assignment&)>& allowed);

}  // namespace longspan
