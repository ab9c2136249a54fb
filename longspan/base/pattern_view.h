// The pairs (query i, key j) of a sparse attention in the pieces that a kernel works with: panels over a band, dense
// strips of rows and columns, square blocks, and a rest that gathers. longspan/patterns makes and owns them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace longspan {

/// Tokens that a pattern can have at most: they are stored as int32.
inline constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();

/// Sorted lists of numbers, one for each row: row r holds keys[begin[r]] .. keys[begin[r + 1] - 1], ascending.
struct CsrView {
  int64_t rows = 0;
  const int64_t* begin = nullptr;  ///< [rows + 1]
  const int32_t* keys = nullptr;   ///< [begin[rows]]

  int64_t size() const { return rows == 0 ? 0 : begin[rows]; }
  std::span<const int32_t> row(int64_t r) const { return {keys + begin[r], keys + begin[r + 1]}; }
};

/// A pattern over N tokens. Every pair lies in exactly one piece, and no piece has holes besides those named here:
///
/// - dense rows: query dense_rows[a] has all keys [0, dense_row_end(i)), and nothing in any other piece;
/// - band: query i has the keys [band_begin[i], band_end[i]). Both ends ascend over the queries that are no dense rows;
///   a dense row has an empty interval, as has every query of a pattern without local part;
/// - dense columns: query i has the keys dense_columns[a] for a in [0, column_left[i]) and
///   [column_right[i], column_end[i]): the columns before its band, and those after it. In between the band has them;
///   a dense row has none;
/// - blocks of width `block`: (c, e) of `blocks` stands for all queries of [c b, (c+1) b) and all keys of
///   [e b, (e+1) b), both cut at N. No block meets another piece;
/// - rest: query i has rest.keys[rest.begin[i]] .. , single keys in ascending order.
///
/// Under `causal` no piece holds a pair with j > i. The arrays live as long as the pattern that gave the view.
struct PatternView {
  int64_t n = 0;  ///< N
  bool causal = false;
  const int32_t* band_begin = nullptr;  ///< [N]
  const int32_t* band_end = nullptr;    ///< [N]
  const int32_t* dense_rows = nullptr;  ///< ascending
  int64_t dense_row_count = 0;
  const int32_t* dense_columns = nullptr;  ///< ascending
  int64_t dense_column_count = 0;
  const int32_t* column_left = nullptr;  ///< [N], as are the two below; nullptr where there are no dense columns
  const int32_t* column_right = nullptr;
  const int32_t* column_end = nullptr;
  int64_t block = 0;  ///< 0 where there are no blocks
  CsrView blocks;     ///< block row -> block columns
  CsrView rest;       ///< query -> keys
  /// [N]: the tokens in an order in which those that share pairs lie close, for a kernel to lay their rows in; nullptr:
  /// as they are numbered. Only where there are no strips and blocks, and in the band no more than each token itself.
  const int32_t* order = nullptr;

  /// Whether the pieces allow an order: single pairs, and tokens that see themselves.
  bool may_have_order() const {
    if (dense_row_count > 0 || dense_column_count > 0 || block > 0) return false;
    for (int64_t i = 0; i < n; ++i)
      if (band_begin[i] != band_end[i] && (band_begin[i] != i || band_end[i] != i + 1)) return false;
    return true;
  }
  bool is_dense_row(int64_t i) const {
    return std::binary_search(dense_rows, dense_rows + dense_row_count, static_cast<int32_t>(i));
  }
  int64_t dense_row_end(int64_t i) const { return causal ? i + 1 : n; }
};

/// The same pairs from the side of the keys, for the backward pass. Dense rows and columns need no transpose.
struct TransposedPatternView {
  /// [N]: key j has the queries [band_begin[j], band_end[j]) except dense rows. Both ascend.
  const int32_t* band_begin = nullptr;
  const int32_t* band_end = nullptr;
  CsrView blocks;                        ///< block column -> block rows
  CsrView rest;                          ///< key -> queries
  const uint32_t* rest_edges = nullptr;  ///< [E]: position in PatternView::rest.keys of each entry of `rest`
};

enum class PatternPiece { dense_row, band, dense_column, block, rest };

/// Calls f(piece, first, end) for disjoint runs of keys that together are those of query i: a dense row; or dense
/// columns and band in the order of the keys, then blocks, then the rest.
template <class F>
void for_each_run(const PatternView& p, int64_t i, const F& f) {
  if (p.is_dense_row(i)) {
    f(PatternPiece::dense_row, int64_t{0}, p.dense_row_end(i));
    return;
  }
  const auto columns = [&](int64_t a, int64_t end) {
    for (; a < end; ++a) f(PatternPiece::dense_column, int64_t{p.dense_columns[a]}, int64_t{p.dense_columns[a]} + 1);
  };
  if (p.dense_column_count > 0) columns(0, p.column_left[i]);
  if (p.band_begin[i] < p.band_end[i]) f(PatternPiece::band, int64_t{p.band_begin[i]}, int64_t{p.band_end[i]});
  if (p.dense_column_count > 0) columns(p.column_right[i], p.column_end[i]);
  if (p.block > 0)
    for (const int64_t e : p.blocks.row(i / p.block))
      f(PatternPiece::block, e * p.block, std::min(p.n, (e + 1) * p.block));
  for (const int64_t key : p.rest.row(i)) f(PatternPiece::rest, key, key + 1);
}

}  // namespace longspan
