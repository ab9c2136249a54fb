// W x = M x + M^T x - diag(M) x for a causal pattern: no pair stands in both M and M^T but (i, i).
#include <algorithm>
#include <utility>
#include <vector>

#include "longspan/spectra/graph.h"

namespace longspan::spectra {

namespace {

/// Queries of a dense column outside their band: those right of it, and those left of it.
struct ColumnQueries {
  int64_t before_begin, before_end;  ///< whose band begins behind the column
  int64_t after_begin, after_end;    ///< whose band ends before it
};

class CausalGraph final : public Graph {
 public:
  CausalGraph(patterns::Pattern pattern, const Parallel& parallel)
      : pattern_(std::move(pattern)), view_(pattern_.view()), transposed_(pattern_.transposed(parallel)) {
    const auto n = static_cast<std::size_t>(view_.n);
    dense_row_.assign(n, 0);
    for (int64_t a = 0; a < view_.dense_row_count; ++a) dense_row_[static_cast<std::size_t>(view_.dense_rows[a])] = 1;
    loop_.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      loop_[i] = pattern_.contains(static_cast<int64_t>(i), static_cast<int64_t>(i)) ? 1 : 0;
    place_columns();
  }

  void apply(const double* x, double* y, GraphScratch& scratch, const Parallel& parallel) const override {
    const PatternView& p = view_;
    RangeSums &all = scratch.all, &sparse = scratch.inner, &columns = scratch.columns;
    const auto weight = [&](int64_t i) { return dense_row_[static_cast<std::size_t>(i)] ? 0.0 : x[i]; };
    all.reset(p.n, [&](int64_t i) { return x[i]; });
    sparse.reset(p.n, weight);  // dense rows stand in no other piece
    columns.reset(p.dense_column_count, [&](int64_t a) { return x[p.dense_columns[a]]; });
    RangeSums rows;
    rows.reset(p.dense_row_count, [&](int64_t a) { return x[p.dense_rows[a]]; });
    parallel.run((p.n + kRows - 1) / kRows, [&](int64_t task, int) {
      int64_t first_dense =
          std::lower_bound(p.dense_rows, p.dense_rows + p.dense_row_count, task * kRows) - p.dense_rows;
      for (int64_t i = task * kRows; i < std::min((task + 1) * kRows, p.n); ++i) {
        double sum = keys(i, x, all, columns) - (loop_[static_cast<std::size_t>(i)] ? x[i] : 0.0);
        while (first_dense < p.dense_row_count && p.dense_rows[first_dense] < i) ++first_dense;
        sum += rows(first_dense, p.dense_row_count);
        sum += sparse(transposed_.band_begin[i], transposed_.band_end[i]);
        for (const int32_t query : transposed_.rest.row(i)) sum += x[query];
        if (p.block > 0)
          for (const int64_t c : transposed_.blocks.row(i / p.block)) sum += block(all, c);
        y[i] = sum;
      }
    });
    for (int64_t a = 0; a < p.dense_column_count; ++a) {
      const ColumnQueries& q = columns_[static_cast<std::size_t>(a)];
      y[p.dense_columns[a]] += sparse(q.before_begin, q.before_end) + sparse(q.after_begin, q.after_end);
    }
  }

  int64_t bytes() const override {
    return static_cast<int64_t>(dense_row_.capacity() + loop_.capacity() + columns_.capacity() * sizeof(ColumnQueries));
  }

 private:
  double block(const RangeSums& sums, int64_t number) const {
    return sums(number * view_.block, std::min(view_.n, (number + 1) * view_.block));
  }

  /// Row i of M x.
  double keys(int64_t i, const double* x, const RangeSums& all, const RangeSums& columns) const {
    const PatternView& p = view_;
    if (dense_row_[static_cast<std::size_t>(i)]) return all(0, p.dense_row_end(i));
    double sum = all(p.band_begin[i], p.band_end[i]);
    if (p.dense_column_count > 0) sum += columns(0, p.column_left[i]) + columns(p.column_right[i], p.column_end[i]);
    if (p.block > 0)
      for (const int64_t e : p.blocks.row(i / p.block)) sum += block(all, e);
    for (const int32_t key : p.rest.row(i)) sum += x[key];
    return sum;
  }

  /// The limits of the columns ascend over the queries that are no dense rows, so each column's queries are two runs.
  void place_columns() {
    const PatternView& p = view_;
    std::vector<int64_t> sparse;
    if (p.dense_column_count > 0)
      for (int64_t i = 0; i < p.n; ++i)
        if (!dense_row_[static_cast<std::size_t>(i)]) sparse.push_back(i);
    for (int64_t a = 0; a < p.dense_column_count; ++a) {
      const auto first_beyond = [&](const int32_t* limit) {
        const auto found = std::partition_point(sparse.begin(), sparse.end(), [&](int64_t i) { return limit[i] <= a; });
        return found == sparse.end() ? p.n : *found;
      };
      const int64_t seen = first_beyond(p.column_end), right = first_beyond(p.column_right);
      columns_.push_back({first_beyond(p.column_left), p.n, std::min(seen, right), right});
    }
  }

  patterns::Pattern pattern_;
  PatternView view_;
  TransposedPatternView transposed_;
  std::vector<char> dense_row_, loop_;
  std::vector<ColumnQueries> columns_;
};

}  // namespace

std::unique_ptr<Graph> make_causal_graph(const patterns::Pattern& pattern, const Parallel& parallel) {
  return std::make_unique<CausalGraph>(pattern, parallel);
}

}  // namespace longspan::spectra
