// Rules that hold for forward and backward of orthogonal memory alike.
#pragma once

#include <cstdint>
#include <limits>

#include "longspan/base/check.h"
#include "longspan/kernels/memory/memory.h"

namespace longspan::kernels::memory {

/// Throws InputError.
template <class S, class M>
void check_memory(const MemoryParams<S, M>& p) {
  LONGSPAN_CHECK(p.feature_heads >= 0 && (p.feature_heads == 0 || p.heads % p.feature_heads == 0),
                 "orthogonal memory: feature_heads must divide ", p.heads, " heads, got ", p.feature_heads);
  LONGSPAN_CHECK(p.slots >= 1, "orthogonal memory: slots must be at least 1, got ", p.slots);
  LONGSPAN_CHECK(p.width >= 1, "orthogonal memory: width must be at least 1, got ", p.width);
  LONGSPAN_CHECK(p.window >= 0, "orthogonal memory: window must not be negative, got ", p.window);
  LONGSPAN_CHECK(p.causal || p.window == 0, "orthogonal memory: window must be 0 in the full form, got ", p.window);
  LONGSPAN_CHECK(p.dropout.probability >= 0 && p.dropout.probability < 1,
                 "orthogonal memory: dropout must be in [0, 1), got ", p.dropout.probability);
  for (int64_t s = 0; s < p.sequences; ++s) {
    LONGSPAN_CHECK(p.queries.size(s) >= 0, "orthogonal memory: queries of sequence ", s, " must not be negative, got ",
                   p.queries.size(s));
    LONGSPAN_CHECK(p.causal ? p.sources.size(s) == p.queries.size(s) : p.sources.size(s) >= 0,
                   "orthogonal memory: sources of sequence ", s, " must be ",
                   p.causal ? "as many as its queries" : "0 or more", ", got ", p.sources.size(s));
    LONGSPAN_CHECK(!p.causal || p.state.count == nullptr || p.state.count[s] >= 0,
                   "orthogonal memory: count of sequence ", s, " must not be negative, got ",
                   p.state.count ? p.state.count[s] : 0);
    const int64_t most = std::numeric_limits<int64_t>::max() - p.queries.size(s);
    LONGSPAN_CHECK(!p.causal || p.state.count == nullptr || p.state.count[s] <= most,
                   "orthogonal memory: count of sequence ", s, " must be at most 2^63 - 1 - ", p.queries.size(s), " = ",
                   most, ", got ", p.state.count ? p.state.count[s] : 0);
  }
}

}  // namespace longspan::kernels::memory
