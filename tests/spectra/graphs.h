// Graphs of the tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "longspan/patterns/build.h"
#include "longspan/patterns/edges.h"
#include "longspan/spectra/topology.h"

namespace longspan::spectra {

inline patterns::Pattern pattern_of(const std::string& name, int64_t n, FieldValues values = {}, uint64_t seed = 0) {
  return patterns::build_pattern(patterns::pattern_options(name, values), n, {.seed = seed});
}

/// Pairs of one's own, without loops but those among them.
inline patterns::Pattern pattern_of_pairs(int64_t n, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  std::vector<int64_t> queries, keys;
  for (const auto& [query, key] : pairs) {
    queries.push_back(query);
    keys.push_back(key);
  }
  const patterns::EdgeList edges = patterns::edges_from_pairs(queries, keys, "test", n);
  return patterns::build_pattern(patterns::pattern_options("edges", {{"self_loops", false}}), n, {.edges = &edges});
}

/// i and i + o mod n for every offset o.
inline patterns::Pattern circulant(int64_t n, const std::vector<int64_t>& offsets) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < n; ++i)
    for (const int64_t o : offsets) pairs.emplace_back(i, (i + o) % n);
  return pattern_of_pairs(n, pairs);
}

/// Token 0 and all others.
inline patterns::Pattern star(int64_t n) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 1; i < n; ++i) pairs.emplace_back(0, i);
  return pattern_of_pairs(n, pairs);
}

}  // namespace longspan::spectra
