// Patterns of every kind for tests of diffusion.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/patterns/build.h"
#include "longspan/patterns/options.h"

namespace longspan::testing {

inline patterns::Pattern pattern_of(const std::string& name, int64_t n, const FieldValues& values = {},
                                    uint64_t seed = 3) {
  return patterns::build_pattern(patterns::pattern_options(name, values), n, {.seed = seed});
}

/// A pattern of n tokens from pairs of (query, key).
inline patterns::Pattern pattern_of_pairs(int64_t n, const std::vector<std::pair<int64_t, int64_t>>& pairs,
                                          const FieldValues& values = {}) {
  std::vector<int64_t> queries, keys;
  for (const auto& [i, j] : pairs) {
    queries.push_back(i);
    keys.push_back(j);
  }
  const patterns::EdgeList edges = patterns::edges_from_pairs(queries, keys, "pairs", n);
  return patterns::build_pattern(patterns::pattern_options("edges", values), n, {.edges = &edges});
}

/// A line whose tokens, n of them, no multiple of 297, are numbered by chance: its pattern has an order.
inline patterns::Pattern shuffled_line(int64_t n, const FieldValues& values = {}) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i > 4 ? i - 4 : 0; j <= i + 3 && j < n; ++j) pairs.push_back({i * 297 % n, j * 297 % n});
  return pattern_of_pairs(n, pairs, values);
}

}  // namespace longspan::testing
