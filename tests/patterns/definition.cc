#include "definition.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace longspan::patterns {

namespace {

template <class Rule>
Pairs where(int64_t n, const Rule& rule) {
  Pairs out;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (rule(i, j)) out.insert({i, j});
  return out;
}

}  // namespace

Pairs overlapping_blocks(int64_t n, int64_t w) {
  Pairs out;
  for (int64_t first = 0; first < n; first += w / 2)
    for (int64_t i = first; i < first + w && i < n; ++i)
      for (int64_t j = first; j < first + w && j < n; ++j) out.insert({i, j});
  return out;
}

Pairs band(int64_t n, int64_t k) {
  return where(n, [&](int64_t i, int64_t j) { return std::abs(i - j) <= k; });
}

Pairs equal_blocks(int64_t n, int64_t b) {
  return where(n, [&](int64_t i, int64_t j) { return i / b == j / b; });
}

Pairs rows_and_columns(int64_t n, const std::vector<int64_t>& tokens) {
  Pairs out;
  for (const int64_t token : tokens)
    for (int64_t other = 0; token < n && other < n; ++other) {
      out.insert({token, other});
      out.insert({other, token});
    }
  return out;
}

Pairs evenly_spaced(int64_t n, int64_t r) {
  Pairs out;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 1; k <= r; ++k) out.insert({i, (i + k * n / (r + 1)) % n});
  return out;
}

Pairs bigbird_frame(int64_t n, int64_t b) {
  const int64_t last = (n + b - 1) / b - 1;
  return where(n, [&](int64_t i, int64_t j) {
    const int64_t row = i / b, column = j / b;
    return row == 0 || row == last || column == 0 || column == last || std::abs(row - column) <= 1;
  });
}

Pairs strided_keys(int64_t n, int64_t l) {
  return where(n, [&](int64_t i, int64_t j) { return j < i && (i - j <= l || (i - j) % l == 0); });
}

Pairs fixed_keys(int64_t n, int64_t l, int64_t c) {
  return where(n, [&](int64_t i, int64_t j) { return i / l == j / l || j % l >= l - c; });
}

Pairs all_pairs(int64_t n) {
  return where(n, [](int64_t, int64_t) { return true; });
}
Pairs diagonal(int64_t n) { return band(n, 0); }

Pairs operator|(Pairs a, const Pairs& b) {
  a.insert(b.begin(), b.end());
  return a;
}
Pairs operator-(const Pairs& a, const Pairs& b) {
  Pairs out;
  for (const auto& pair : a)
    if (!b.contains(pair)) out.insert(pair);
  return out;
}
Pairs cut_to(const Pairs& pairs, int64_t n) {
  Pairs out;
  for (const auto& [i, j] : pairs)
    if (i < n && j < n) out.insert({i, j});
  return out;
}
Pairs past(const Pairs& pairs) {
  Pairs out;
  for (const auto& [i, j] : pairs)
    if (j <= i) out.insert({i, j});
  return out;
}

Pairs pairs_of(const PatternView& p) {
  Pairs out;
  const auto add = [&](int64_t i, int64_t begin, int64_t end, const char* piece) {
    for (int64_t j = begin; j < end; ++j) {
      EXPECT_TRUE(i >= 0 && i < p.n && j >= 0 && j < p.n) << piece << " (" << i << ", " << j << ") of " << p.n;
      EXPECT_TRUE(!p.causal || j <= i) << piece << " (" << i << ", " << j << ") of a causal pattern";
      EXPECT_TRUE(out.insert({i, j}).second) << piece << " (" << i << ", " << j << ") stands in two pieces";
    }
  };
  std::set<int64_t> dense;
  for (int64_t a = 0; a < p.dense_row_count; ++a) {
    EXPECT_TRUE(dense.insert(p.dense_rows[a]).second && *dense.rbegin() == p.dense_rows[a]) << "dense row " << a;
    add(p.dense_rows[a], 0, p.dense_row_end(p.dense_rows[a]), "dense row");
  }
  for (int64_t a = 1; a < p.dense_column_count; ++a) EXPECT_LT(p.dense_columns[a - 1], p.dense_columns[a]);
  int64_t begin = 0, end = 0;
  for (int64_t i = 0; i < p.n; ++i) {
    EXPECT_EQ(p.is_dense_row(i), dense.contains(i));
    if (p.band_begin[i] < p.band_end[i]) {
      EXPECT_TRUE(begin <= p.band_begin[i] && end <= p.band_end[i]) << "the band does not ascend at " << i;
      begin = p.band_begin[i], end = p.band_end[i];
      add(i, begin, end, "band");
    }
    if (p.dense_column_count > 0) {
      EXPECT_LE(p.column_left[i], p.column_right[i]);
      EXPECT_LE(p.column_right[i], p.column_end[i]);
    }
    for (int64_t a = 0; a < p.dense_column_count; ++a)
      if (a < p.column_left[i] || (a >= p.column_right[i] && a < p.column_end[i]))
        add(i, p.dense_columns[a], p.dense_columns[a] + 1, "dense column");
    if (p.block > 0) {
      EXPECT_EQ(p.blocks.rows, (p.n + p.block - 1) / p.block);
      for (int64_t e = p.blocks.begin[i / p.block]; e < p.blocks.begin[i / p.block + 1]; ++e)
        add(i, p.blocks.keys[e] * p.block, std::min<int64_t>(p.n, (p.blocks.keys[e] + 1) * p.block), "block");
    }
    for (int64_t e = p.rest.begin[i]; e < p.rest.begin[i + 1]; ++e) {
      EXPECT_TRUE(e == p.rest.begin[i] || p.rest.keys[e - 1] < p.rest.keys[e]) << "the rest does not ascend at " << i;
      add(i, p.rest.keys[e], p.rest.keys[e] + 1, "rest");
    }
  }
  EXPECT_EQ(p.rest.rows, p.n);
  return out;
}

Pairs pairs_of(const PatternView& p, const TransposedPatternView& t) {
  Pairs out;
  const auto add = [&](int64_t i, int64_t j) {
    EXPECT_TRUE(out.insert({i, j}).second) << "(" << i << ", " << j << ") stands in two pieces";
  };
  int64_t begin = 0, end = 0;
  for (int64_t j = 0; j < p.n; ++j) {
    if (t.band_begin[j] < t.band_end[j]) {
      EXPECT_TRUE(begin <= t.band_begin[j] && end <= t.band_end[j]) << "the band does not ascend at key " << j;
      begin = t.band_begin[j], end = t.band_end[j];
    }
    for (int64_t i = t.band_begin[j]; i < t.band_end[j]; ++i)
      if (!p.is_dense_row(i)) add(i, j);
    if (p.block > 0)
      for (int64_t e = t.blocks.begin[j / p.block]; e < t.blocks.begin[j / p.block + 1]; ++e)
        for (int64_t i = t.blocks.keys[e] * p.block; i < std::min<int64_t>(p.n, (t.blocks.keys[e] + 1) * p.block); ++i)
          add(i, j);
    for (int64_t e = t.rest.begin[j]; e < t.rest.begin[j + 1]; ++e) {
      const int64_t i = t.rest.keys[e], edge = t.rest_edges[e];
      EXPECT_TRUE(e == t.rest.begin[j] || t.rest.keys[e - 1] < i);
      EXPECT_EQ(p.rest.keys[edge], j);
      EXPECT_TRUE(edge >= p.rest.begin[i] && edge < p.rest.begin[i + 1]) << "edge " << edge << " is not of query " << i;
      add(i, j);
    }
  }
  for (int64_t a = 0; a < p.dense_row_count; ++a)
    for (int64_t j = 0; j < p.dense_row_end(p.dense_rows[a]); ++j) add(p.dense_rows[a], j);
  for (int64_t i = 0; i < p.n; ++i)
    for (int64_t a = 0; a < p.dense_column_count; ++a)
      if (a < p.column_left[i] || (a >= p.column_right[i] && a < p.column_end[i])) add(i, p.dense_columns[a]);
  return out;
}

}  // namespace longspan::patterns
