#include "longspan/patterns/local_order.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "longspan/patterns/csr.h"

namespace longspan::patterns {

namespace {

/// Attempts to find a token farther from all others: each is a walk through the component.
constexpr int kAttempts = 4;

class Graph {
 public:
  explicit Graph(const CsrView& rest)
      : keys_(rest),
        transposed_(transpose(rest, rest.rows)),
        queries_(transposed_.rows.view()),
        seen_(static_cast<std::size_t>(rest.rows), 0) {}

  int64_t degree(int64_t i) const { return std::ssize(keys_.row(i)) + std::ssize(queries_.row(i)); }
  /// Few neighbours first; numbers decide between equals.
  auto by_degree() const {
    return [this](int32_t a, int32_t b) { return std::pair(degree(a), a) < std::pair(degree(b), b); };
  }

  /// The component of `start` in the order of a walk by levels, each token's neighbours by degree. Returns the first of
  /// the last level and the number of levels.
  std::pair<std::size_t, int64_t> walk(int32_t start, std::vector<int32_t>& out) {
    ++walk_;
    out.assign(1, start);
    see(start);
    std::size_t level = 0, next = 1;  // first of this level and of the next one
    int64_t levels = 1;
    for (std::size_t at = 0; at < out.size(); ++at) {
      if (at == next) {
        level = next;
        next = out.size();
        ++levels;
      }
      const auto fresh = static_cast<std::ptrdiff_t>(out.size());
      for (const CsrView* lists : {&keys_, &queries_})
        for (const int32_t neighbour : lists->row(out[at]))
          if (see(neighbour)) out.push_back(neighbour);
      std::sort(out.begin() + fresh, out.end(), by_degree());
    }
    return {level, levels};
  }

  /// The component of `start`, walked from an end of it as far as a few walks find one.
  void order_component(int32_t start, std::vector<int32_t>& out) {
    int64_t before = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const auto [last, levels] = walk(start, out);
      if (levels <= before) break;
      before = levels;
      start = *std::min_element(out.begin() + static_cast<std::ptrdiff_t>(last), out.end(), by_degree());
    }
  }

 private:
  bool see(int32_t i) {
    int32_t& mark = seen_[static_cast<std::size_t>(i)];
    return std::exchange(mark, walk_) != walk_;
  }

  const CsrView keys_;
  const TransposedCsr transposed_;
  const CsrView queries_;
  std::vector<int32_t> seen_;  ///< the last walk that came by
  int32_t walk_ = 0;
};

/// Sum over the pairs of the distance between their places.
int64_t total_distance(const CsrView& rest, const std::vector<int32_t>& place) {
  int64_t sum = 0;
  for (std::size_t i = 0; i < place.size(); ++i)
    for (const int32_t key : rest.row(static_cast<int64_t>(i)))
      sum += std::abs(int64_t{place[i]} - place[static_cast<std::size_t>(key)]);
  return sum;
}

}  // namespace

std::vector<int32_t> local_order(const CsrView& rest) {
  const auto n = static_cast<std::size_t>(rest.rows);
  std::vector<int32_t> numbered(n);
  std::iota(numbered.begin(), numbered.end(), 0);
  if (rest.size() == 0) return {};
  Graph graph(rest);
  std::vector<int32_t> starts = numbered, order, component, place(n, -1);
  std::sort(starts.begin(), starts.end(), graph.by_degree());
  order.reserve(n);
  for (const int32_t start : starts) {
    if (place[static_cast<std::size_t>(start)] >= 0) continue;
    graph.order_component(start, component);
    for (const int32_t i : component) {
      place[static_cast<std::size_t>(i)] = static_cast<int32_t>(order.size());
      order.push_back(i);
    }
  }
  if (2 * total_distance(rest, place) > total_distance(rest, numbered)) return {};
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace longspan::patterns
