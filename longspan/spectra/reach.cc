#include "longspan/spectra/reach.h"

#include <algorithm>

#include "longspan/base/check.h"

namespace longspan::spectra {

namespace {

/// Keys reached from one query after 1, 2, .. hops. `seen` [N] is zeros before and after.
std::vector<int64_t> keys_reached(const PatternView& pattern, int64_t query, int64_t hops, std::vector<char>& seen) {
  const int64_t all = pattern.causal ? query + 1 : pattern.n;
  std::vector<int64_t> counts;
  std::vector<int32_t> reached, frontier = {static_cast<int32_t>(query)}, next;
  for (int64_t hop = 0; hop < hops; ++hop) {
    next.clear();
    for (std::size_t f = 0; f < frontier.size() && static_cast<int64_t>(reached.size()) < all; ++f)
      for_each_run(pattern, frontier[f], [&](PatternPiece, int64_t begin, int64_t end) {
        for (int64_t key = begin; key < end; ++key) {
          char& known = seen[static_cast<std::size_t>(key)];
          if (known) continue;
          known = 1;
          reached.push_back(static_cast<int32_t>(key));
          next.push_back(static_cast<int32_t>(key));
        }
      });
    counts.push_back(static_cast<int64_t>(reached.size()));
    frontier.swap(next);
  }
  for (const int32_t key : reached) seen[static_cast<std::size_t>(key)] = 0;
  return counts;
}

}  // namespace

Reach reach_of(const patterns::Pattern& pattern, int64_t hops, int64_t most_queries, const Parallel& parallel) {
  LONGSPAN_CHECK(hops >= 1, "reach: hops must be at least 1, got ", hops);
  LONGSPAN_CHECK(most_queries >= 1, "reach: most_queries must be at least 1, got ", most_queries);
  const PatternView view = pattern.view();
  Reach out;
  out.queries = std::min(view.n, most_queries);
  const auto size = static_cast<std::size_t>(hops);
  out.mean.assign(size, 0);
  out.least.assign(size, out.queries > 0 ? 1 : 0);
  std::vector<std::vector<double>> shares(static_cast<std::size_t>(out.queries));
  std::vector<std::vector<char>> seen(static_cast<std::size_t>(parallel.workers()));
  parallel.run(out.queries, [&](int64_t q, int worker) {
    std::vector<char>& mine = seen[static_cast<std::size_t>(worker)];
    mine.resize(static_cast<std::size_t>(view.n), 0);
    const int64_t query = out.queries == 1 ? view.n - 1 : q * (view.n - 1) / (out.queries - 1);
    const auto keys = static_cast<double>(view.causal ? query + 1 : view.n);
    for (const int64_t count : keys_reached(view, query, hops, mine))
      shares[static_cast<std::size_t>(q)].push_back(static_cast<double>(count) / keys);
  });
  for (const auto& share : shares)
    for (std::size_t hop = 0; hop < size; ++hop) {
      out.mean[hop] += share[hop];
      out.least[hop] = std::min(out.least[hop], share[hop]);
    }
  for (double& mean : out.mean) mean /= static_cast<double>(std::max<int64_t>(out.queries, 1));
  for (std::size_t hop = 0; hop < size && !out.hops_to_all && out.queries > 0; ++hop)
    if (out.least[hop] == 1) out.hops_to_all = static_cast<int64_t>(hop) + 1;
  return out;
}

}  // namespace longspan::spectra
