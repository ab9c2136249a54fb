// How far tokens hear in so many hops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "longspan/base/parallel.h"
#include "longspan/patterns/pattern.h"

namespace longspan::spectra {

/// From queries along the pairs, in their direction: Z_K row i depends on V row j where a path of at most K pairs leads
/// from i to j.
struct Reach {
  int64_t queries = 0;        ///< looked at
  std::vector<double> mean;   ///< [hops]: part of its keys (all, or those up to itself under `causal`) that a query has
                              ///< reached after 1, 2, .. hops, mean over the queries
  std::vector<double> least;  ///< the least of them
  std::optional<int64_t> hops_to_all;  ///< after which every query looked at has reached all; nothing within the hops
};

/// `hops` >= 1 hops from at most `most_queries` >= 1 queries, evenly spaced, the first and the last among them. Time:
/// pairs of the queries reached, for each; memory N bytes a thread.
Reach reach_of(const patterns::Pattern& pattern, int64_t hops, int64_t most_queries,
               const Parallel& parallel = SerialParallel());

}  // namespace longspan::spectra
