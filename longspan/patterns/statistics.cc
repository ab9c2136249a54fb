#include "longspan/patterns/statistics.h"

#include <algorithm>
#include <numeric>

#include "longspan/base/check.h"

namespace longspan::patterns {

namespace {

/// Disjoint sets of tokens, with path halving.
class Sets {
 public:
  explicit Sets(int64_t n) : parent_(static_cast<std::size_t>(n)), count_(n) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  void unite(int64_t a, int64_t b) {
    const int64_t root_a = root(a), root_b = root(b);
    if (root_a == root_b) return;
    at(std::max(root_a, root_b)) = static_cast<int32_t>(std::min(root_a, root_b));
    --count_;
  }
  int64_t count() const { return count_; }

 private:
  int32_t& at(int64_t token) { return parent_[static_cast<std::size_t>(token)]; }
  int64_t root(int64_t token) {
    while (at(token) != token) token = at(token) = at(at(token));
    return token;
  }

  std::vector<int32_t> parent_;
  int64_t count_;
};

}  // namespace

PatternStatistics statistics(const PatternView& pattern) {
  PatternStatistics out;
  const int64_t n = pattern.n;
  if (n == 0) return out;
  Sets sets(n);
  // Differences along the keys: of the number of queries, and of the runs that hold a key and the next one. Whatever
  // the length of a run, it takes two additions.
  std::vector<int64_t> queries(static_cast<std::size_t>(n) + 1, 0), joined(static_cast<std::size_t>(n) + 1, 0);
  int64_t total = 0;
  out.degree_min = n;
  for (int64_t i = 0; i < n; ++i) {
    int64_t degree = 0;
    for_each_run(pattern, i, [&](PatternPiece, int64_t begin, int64_t end) {
      degree += end - begin;
      ++queries[static_cast<std::size_t>(begin)];
      --queries[static_cast<std::size_t>(end)];
      ++joined[static_cast<std::size_t>(begin)];
      --joined[static_cast<std::size_t>(end) - 1];
      sets.unite(i, begin);
    });
    out.degree_min = std::min(out.degree_min, degree);
    out.degree_max = std::max(out.degree_max, degree);
    out.empty_rows += degree == 0;
    total += degree;
  }
  out.degree_mean = static_cast<double>(total) / static_cast<double>(n);
  std::partial_sum(queries.begin(), queries.end(), queries.begin());
  std::partial_sum(joined.begin(), joined.end(), joined.begin());
  const auto [least, most] = std::minmax_element(queries.begin(), queries.end() - 1);
  out.in_degree_min = *least;
  out.in_degree_max = *most;
  for (int64_t j = 0; j + 1 < n; ++j)
    if (joined[static_cast<std::size_t>(j)] > 0) sets.unite(j, j + 1);
  out.components = sets.count();
  return out;
}

PatternMap map_of(const PatternView& pattern, int64_t most_cells) {
  LONGSPAN_CHECK(most_cells >= 1, "map_of: most_cells must be at least 1, got ", most_cells);
  PatternMap map;
  const int64_t n = pattern.n, cells = std::min(most_cells, n);
  map.cells = cells;
  for (auto& share : map.share) share.assign(static_cast<std::size_t>(cells * cells), 0);
  const auto first = [&](int64_t cell) { return (cell * n + cells - 1) / cells; };
  const auto width = [&](int64_t cell) { return static_cast<double>(first(cell + 1) - first(cell)); };
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = i * cells / n;
    for_each_run(pattern, i, [&](PatternPiece piece, int64_t begin, int64_t end) {
      auto& share = map.share[static_cast<std::size_t>(piece)];
      for (int64_t column = begin * cells / n; column < cells && first(column) < end; ++column)
        share[static_cast<std::size_t>(row * cells + column)] +=
            static_cast<double>(std::min(end, first(column + 1)) - std::max(begin, first(column))) /
            (width(row) * width(column));
    });
  }
  return map;
}

}  // namespace longspan::patterns
