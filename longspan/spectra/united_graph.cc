// max(M, M^T) of a pattern that is not causal, as disjoint symmetric pieces:
// - hubs: a dense row or column of M is both in W, a row and a column of ones;
// - bands: among the others, the interval of M's row and that of its column, joined where they meet;
// - blocks: those of M and of M^T, as long as they meet no band;
// - rest: every pair that is left, from both of its ends.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "longspan/spectra/graph.h"

namespace longspan::spectra {

namespace {

struct Run {
  int32_t begin = 0, end = 0;
  bool holds(int64_t j) const { return begin <= j && j < end; }
  bool meets(int64_t first, int64_t last) const {
    return std::max<int64_t>(begin, first) < std::min<int64_t>(end, last);
  }
};
using Band = std::array<Run, 2>;

/// The union of two runs as disjoint ones.
Band united(Run a, Run b) {
  if (a.begin == a.end) return {b, {}};
  if (b.begin == b.end) return {a, {}};
  if (a.begin > b.begin) std::swap(a, b);
  if (b.begin > a.end) return {a, b};
  return {Run{a.begin, std::max(a.end, b.end)}, {}};
}

class UnitedGraph final : public Graph {
 public:
  UnitedGraph(const patterns::Pattern& pattern, const Parallel& parallel)
      : n_(pattern.size()), block_(pattern.view().block) {
    const PatternView view = pattern.view();
    find_hubs(view);
    join_bands(view, pattern.transposed(parallel));
    patterns::Csr loose = join_blocks(view);
    join_rest(view, loose, parallel);
  }

  void apply(const double* x, double* y, GraphScratch& scratch, const Parallel& parallel) const override {
    RangeSums &all = scratch.all, &inner = scratch.inner;
    all.reset(n_, [&](int64_t i) { return x[i]; });
    inner.reset(n_, [&](int64_t i) { return is_hub(i) ? 0.0 : x[i]; });
    const double everything = all(0, n_);
    double of_hubs = 0;
    for (const int32_t hub : hubs_) of_hubs += x[hub];
    parallel.run((n_ + kRows - 1) / kRows, [&](int64_t task, int) {
      for (int64_t i = task * kRows; i < std::min((task + 1) * kRows, n_); ++i) {
        if (is_hub(i)) {
          y[i] = everything;
          continue;
        }
        double sum = of_hubs;
        for (const Run& run : bands_[static_cast<std::size_t>(i)]) sum += inner(run.begin, run.end);
        if (block_ > 0)
          for (const int64_t e : blocks_.row(i / block_)) sum += inner(e * block_, std::min(n_, (e + 1) * block_));
        for (const int32_t j : rest_.row(i)) sum += x[j];
        y[i] = sum;
      }
    });
  }

  int64_t bytes() const override {
    const auto csr = [](const patterns::Csr& c) { return c.begin.capacity() * 8 + c.keys.capacity() * 4; };
    return static_cast<int64_t>(hub_.capacity() + hubs_.capacity() * 4 + bands_.capacity() * sizeof(Band) +
                                csr(blocks_) + csr(rest_));
  }

 private:
  bool is_hub(int64_t i) const { return hub_[static_cast<std::size_t>(i)] != 0; }

  void find_hubs(const PatternView& p) {
    hub_.assign(static_cast<std::size_t>(n_), 0);
    for (int64_t a = 0; a < p.dense_row_count; ++a) hub_[static_cast<std::size_t>(p.dense_rows[a])] = 1;
    for (int64_t a = 0; a < p.dense_column_count; ++a) hub_[static_cast<std::size_t>(p.dense_columns[a])] = 1;
    for (int64_t i = 0; i < n_; ++i)
      if (is_hub(i)) hubs_.push_back(static_cast<int32_t>(i));
  }

  void join_bands(const PatternView& p, const TransposedPatternView& t) {
    bands_.resize(static_cast<std::size_t>(n_));
    for (int64_t i = 0; i < n_; ++i)
      if (!is_hub(i))
        bands_[static_cast<std::size_t>(i)] =
            united({p.band_begin[i], p.band_end[i]}, {t.band_begin[i], t.band_end[i]});
  }

  bool in_band(int64_t i, int64_t j) const {
    const Band& band = bands_[static_cast<std::size_t>(i)];
    return band[0].holds(j) || band[1].holds(j);
  }
  bool in_blocks(int64_t i, int64_t j) const {
    if (block_ == 0) return false;
    const auto row = blocks_.row(i / block_);
    return std::binary_search(row.begin(), row.end(), static_cast<int32_t>(j / block_));
  }
  int64_t end_of(int64_t number) const { return std::min(n_, (number + 1) * block_); }

  /// Returns the blocks that meet a band, whose pairs go to the rest.
  patterns::Csr join_blocks(const PatternView& p) {
    patterns::Csr loose;
    if (block_ == 0) return loose;
    std::vector<std::vector<int32_t>> rows(static_cast<std::size_t>(p.blocks.rows));
    for (int64_t c = 0; c < p.blocks.rows; ++c) {
      for (const int32_t e : p.blocks.row(c)) {
        bool meets = false;
        for (int64_t i = c * block_; i < end_of(c) && !meets; ++i)
          for (const Run& run : bands_[static_cast<std::size_t>(i)]) meets = meets || run.meets(e * block_, end_of(e));
        if (meets) {
          loose.keys.push_back(e);
        } else {
          rows[static_cast<std::size_t>(c)].push_back(e);
          rows[static_cast<std::size_t>(e)].push_back(static_cast<int32_t>(c));
        }
      }
      loose.begin.push_back(loose.size());
    }
    for (auto& row : rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      blocks_.keys.insert(blocks_.keys.end(), row.begin(), row.end());
      blocks_.begin.push_back(blocks_.size());
    }
    return loose;
  }

  void join_rest(const PatternView& p, const patterns::Csr& loose, const Parallel& parallel) {
    const auto for_each = [&](const auto& f) {
      for (int64_t i = 0; i < n_; ++i) {
        if (is_hub(i)) continue;
        const auto offer = [&](int64_t j) {
          if (!is_hub(j) && !in_band(i, j) && !in_blocks(i, j)) f(i, j);
        };
        for (const int32_t j : p.rest.row(i)) offer(j);
        if (loose.size() > 0)
          for (const int64_t e : loose.row(i / block_))
            for (int64_t j = e * block_; j < end_of(e); ++j) offer(j);
      }
    };
    std::vector<int64_t> begin(static_cast<std::size_t>(n_) + 1, 0);
    for_each([&](int64_t i, int64_t j) {
      ++begin[static_cast<std::size_t>(i) + 1];
      if (i != j) ++begin[static_cast<std::size_t>(j) + 1];
    });
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_); ++i) begin[i + 1] += begin[i];
    std::vector<int32_t> keys(static_cast<std::size_t>(begin.back()));
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for_each([&](int64_t i, int64_t j) {
      keys[static_cast<std::size_t>(next[static_cast<std::size_t>(i)]++)] = static_cast<int32_t>(j);
      if (i != j) keys[static_cast<std::size_t>(next[static_cast<std::size_t>(j)]++)] = static_cast<int32_t>(i);
    });
    // A pair whose reverse was there too stands twice. `next` becomes the end of what is left of each row.
    parallel.run((n_ + kRows - 1) / kRows, [&](int64_t task, int) {
      for (int64_t i = task * kRows; i < std::min((task + 1) * kRows, n_); ++i) {
        const auto row = static_cast<std::size_t>(i);
        const auto first = keys.begin() + begin[row], last = keys.begin() + begin[row + 1];
        std::sort(first, last);
        next[row] = std::unique(first, last) - keys.begin();
      }
    });
    rest_.begin.assign(static_cast<std::size_t>(n_) + 1, 0);
    int64_t kept = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_); ++i) {
      std::copy(keys.begin() + begin[i], keys.begin() + next[i], keys.begin() + kept);
      kept += next[i] - begin[i];
      rest_.begin[i + 1] = kept;
    }
    keys.resize(static_cast<std::size_t>(kept));
    rest_.keys = std::move(keys);
  }

  int64_t n_, block_;
  std::vector<char> hub_;
  std::vector<int32_t> hubs_;
  std::vector<Band> bands_;
  patterns::Csr blocks_, rest_;
};

}  // namespace

std::unique_ptr<Graph> make_united_graph(const patterns::Pattern& pattern, const Parallel& parallel) {
  return std::make_unique<UnitedGraph>(pattern, parallel);
}

}  // namespace longspan::spectra
