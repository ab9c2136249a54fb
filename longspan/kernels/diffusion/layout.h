// A pattern cut into tiles: its dense pieces as blocks of 16 keys by 16 queries, its rest as lists.
//
// The dense pieces of 16 consecutive queries, of up to 16 dense rows, and of up to 16 dense columns all become one
// thing, blocks, by laying the rows of a panel so:
//
//     [tokens, rounded up to 16 | copies of the rows of dense columns | copies of the rows of dense rows]
//
// A tile is 16 queries that stand in adjacent rows of a panel: consecutive tokens, or dense rows by their copies. What
// it sees is a few runs of adjacent rows, cut into blocks at multiples of 16. Holes are weights of zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "longspan/base/pattern_view.h"

namespace longspan::kernels::diffusion {

/// Queries of a tile, keys of a block.
inline constexpr int64_t kLanes = 16;
inline constexpr int64_t kBlockSize = kLanes * kLanes;

/// Adjacent rows of a panel that a tile sees.
struct Run {
  int64_t first = 0;   ///< a multiple of kLanes
  int64_t count = 0;   ///< the same
  int64_t offset = 0;  ///< of its weights, [count][kLanes]
  /// Lane l sees the rows first + [begin[l], end[l]).
  int32_t begin[kLanes] = {}, end[kLanes] = {};
  /// first + [whole_begin, whole_end) is seen by all lanes.
  int64_t whole_begin = 0, whole_end = 0;
};

/// A block as its keys find it.
struct BlockOfKeys {
  int64_t tile;
  int64_t run;     ///< number in TileLayout::run()
  int64_t at;      ///< first row of the block, from Run::first
  int64_t offset;  ///< of its weights, [kLanes keys][kLanes queries]
};

// Tokens stand in a panel as they are numbered, or, where the pattern has an order (PatternView::order), in that: rows
// that are gathered together lie together then. Everything here counts rows of a panel; token() says whose they are.

/// Where the weights of one head stand: tile by tile, those of its runs and then those of the rest of its queries.
class TileLayout {
 public:
  /// Queries before first_row have no weights. The arrays of the pattern outlive the layout.
  explicit TileLayout(const PatternView& pattern, int64_t first_row = 0);
  /// What the backward pass needs besides.
  void transpose(const TransposedPatternView& transposed);

  /// Its pieces count rows of a panel.
  const PatternView& pattern() const { return pattern_; }
  /// Whether tokens stand in another order than that of their numbers: never where there is a past.
  bool reordered() const { return !order_.empty(); }
  int64_t tokens() const { return pattern_.n; }
  int64_t first_row() const { return first_row_; }

  /// Rows of a panel, a multiple of kLanes.
  int64_t rows() const { return dense_row_ + dense_tiles_ * kLanes; }
  int64_t column_row(int64_t a = 0) const { return column_row_ + a; }  ///< of the copy of dense column a
  int64_t dense_row(int64_t a = 0) const { return dense_row_ + a; }    ///< of the copy of the a-th dense row kept
  int64_t columns() const { return pattern_.dense_column_count; }
  int64_t column_token(int64_t a) const { return pattern_.dense_columns[a]; }
  /// Dense rows from first_row on.
  int64_t dense_rows() const { return pattern_.dense_row_count - dense_rows_before_; }
  int64_t dense_token(int64_t a) const { return pattern_.dense_rows[dense_rows_before_ + a]; }
  /// The token whose row stands at a row of a panel; -1: none.
  int64_t token(int64_t row) const { return token_[static_cast<std::size_t>(row)]; }

  /// Tiles: [0, token_tiles()) of tokens from the one of first_row on, then those of dense rows.
  int64_t tiles() const { return token_tiles_ + dense_tiles_; }
  int64_t token_tiles() const { return token_tiles_; }
  bool is_dense(int64_t tile) const { return tile >= token_tiles_; }
  /// First row of a tile in a panel.
  int64_t row(int64_t tile) const {
    return is_dense(tile) ? dense_row_ + (tile - token_tiles_) * kLanes : first_tile_row_ + tile * kLanes;
  }
  /// Whether lane `lane` of the tile is a query that the tile works (a dense row has a tile of its own).
  bool alive(int64_t tile, int64_t lane) const;

  int64_t run_begin(int64_t tile) const { return run_begin_[static_cast<std::size_t>(tile)]; }
  int64_t run_end(int64_t tile) const { return run_begin_[static_cast<std::size_t>(tile + 1)]; }
  const Run& run(int64_t number) const { return runs_[static_cast<std::size_t>(number)]; }

  /// Weights of a tile: [offset(tile), offset(tile + 1)), a multiple of kLanes; those of its runs end at runs_end().
  int64_t offset(int64_t tile) const { return offset_[static_cast<std::size_t>(tile)]; }
  int64_t runs_end(int64_t tile) const { return runs_end_[static_cast<std::size_t>(tile)]; }
  int64_t weights() const { return offset_.back(); }
  /// Weight of the entry e of PatternView::rest.keys, in the row of `query`.
  int64_t rest_weight(int64_t query, int64_t e) const {
    const int64_t tile = (query - first_tile_row_) / kLanes;
    return runs_end(tile) + e - pattern_.rest.begin[std::max(tile * kLanes + first_tile_row_, first_row_)];
  }
  bool has_rest() const { return rest_size_ > 0; }

  /// After transpose(): blocks of the keys in the panel rows [16 j, 16 (j + 1)), by tile.
  int64_t key_tiles() const { return dense_row_ / kLanes; }
  const BlockOfKeys* blocks_begin(int64_t j) const {
    return blocks_.data() + block_begin_[static_cast<std::size_t>(j)];
  }
  const BlockOfKeys* blocks_end(int64_t j) const {
    return blocks_.data() + block_begin_[static_cast<std::size_t>(j + 1)];
  }
  /// After transpose(): key -> queries of the rest, and the entry of PatternView::rest.keys of each.
  const CsrView& rest_queries() const { return rest_queries_; }
  int64_t rest_entry(int64_t e) const { return rest_entries_[e]; }

  /// Bytes held.
  int64_t bytes() const;

 private:
  void add_runs(int64_t tile);
  void add_block_runs(int64_t first);
  template <class Begin, class End>
  void add_run(int64_t shift, const Begin& begin, const End& end);

  void reorder();
  void transpose_reordered(const TransposedPatternView& transposed);

  PatternView pattern_;
  std::vector<int32_t> order_, place_;  ///< token of a row, row of a token; empty: the same
  std::vector<int32_t> band_begin_, band_end_, rest_keys_;
  std::vector<int64_t> rest_begin_;
  std::vector<uint32_t> entry_of_edge_;  ///< of the pattern's rest
  int64_t first_row_, first_tile_row_;
  int64_t column_row_ = 0, dense_row_ = 0;
  int64_t dense_rows_before_ = 0;
  int64_t token_tiles_ = 0, dense_tiles_ = 0;
  int64_t weights_ = 0, rest_size_ = 0;
  std::vector<int32_t> token_;
  std::vector<char> is_dense_row_;  ///< by token
  std::vector<Run> runs_;
  std::vector<int64_t> run_begin_, runs_end_, offset_;
  std::vector<BlockOfKeys> blocks_;
  std::vector<int64_t> block_begin_;
  CsrView rest_queries_;
  const uint32_t* rest_entries_ = nullptr;
  std::vector<int64_t> own_begin_;  ///< the transposed rest without the past, or in the layout's order
  std::vector<int32_t> own_queries_;
  std::vector<uint32_t> own_entries_;
};

}  // namespace longspan::kernels::diffusion
