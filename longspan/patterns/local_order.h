// The order in which a kernel lays the rows of tokens that have pairs of their own, so that what it gathers is in the
// cache.
#pragma once

#include <cstdint>
#include <vector>

#include "longspan/base/pattern_view.h"

namespace longspan::patterns {

/// Every token once, those that share pairs close to one another: reverse Cuthill-McKee over the pairs of `rest` (N
/// rows and columns) taken in both directions, component by component. Empty where the pairs lie close as they are
/// numbered: unless the mean distance of the two ends falls to half or less. Time O(E log degree + N log N), a pure
/// function of the pairs.
std::vector<int32_t> local_order(const CsrView& rest);

}  // namespace longspan::patterns
