#include "longspan/kernels/diffusion/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "longspan/kernels/diffusion/diffusion.h"

namespace longspan::kernels::diffusion {
namespace {

constexpr int64_t round_up(int64_t x) { return (x + kLanes - 1) / kLanes * kLanes; }
constexpr int64_t round_down(int64_t x) { return x / kLanes * kLanes; }

/// A run is cut so that positions in it are exact as float32.
constexpr int64_t kLongestRun = 1 << 20;

}  // namespace

TileLayout::TileLayout(const PatternView& pattern, int64_t first_row)
    : pattern_(pattern), first_row_(first_row), first_tile_row_(round_down(first_row)) {
  if (pattern.order != nullptr && first_row == 0) reorder();
  dense_rows_before_ = std::lower_bound(pattern.dense_rows, pattern.dense_rows + pattern.dense_row_count, first_row) -
                       pattern.dense_rows;
  column_row_ = round_up(pattern.n);
  dense_row_ = column_row_ + round_up(pattern.dense_column_count);
  dense_tiles_ = round_up(dense_rows()) / kLanes;
  token_tiles_ = (round_up(pattern.n) - first_tile_row_) / kLanes;
  token_.assign(static_cast<std::size_t>(rows()), -1);
  if (reordered())
    std::copy(order_.begin(), order_.end(), token_.begin());
  else
    std::iota(token_.begin(), token_.begin() + pattern.n, 0);
  std::copy_n(pattern.dense_columns, pattern.dense_column_count, token_.begin() + column_row_);
  std::copy_n(pattern.dense_rows + dense_rows_before_, dense_rows(), token_.begin() + dense_row_);

  is_dense_row_.assign(static_cast<std::size_t>(pattern.n), 0);
  for (int64_t a = 0; a < pattern.dense_row_count; ++a)
    is_dense_row_[static_cast<std::size_t>(pattern.dense_rows[a])] = 1;

  run_begin_.push_back(0);
  offset_.push_back(0);
  for (int64_t tile = 0; tile < tiles(); ++tile) {
    add_runs(tile);
    run_begin_.push_back(static_cast<int64_t>(runs_.size()));
    runs_end_.push_back(weights_);
    if (!is_dense(tile)) {
      const int64_t first = std::max(row(tile), first_row_), last = std::min(row(tile) + kLanes, pattern.n);
      const int64_t rest = pattern_.rest.size() == 0 ? 0 : pattern_.rest.begin[last] - pattern_.rest.begin[first];
      rest_size_ += rest;
      weights_ = round_up(weights_ + rest);
    }
    offset_.push_back(weights_);
  }
}

/// The pattern over the rows of a panel: of its pieces it has the diagonal and the rest.
void TileLayout::reorder() {
  const PatternView tokens = pattern_;
  const auto n = static_cast<std::size_t>(tokens.n);
  order_.assign(tokens.order, tokens.order + tokens.n);
  place_.resize(n);
  for (std::size_t row = 0; row < n; ++row) place_[static_cast<std::size_t>(order_[row])] = static_cast<int32_t>(row);
  entry_of_edge_.resize(static_cast<std::size_t>(tokens.rest.size()));
  std::vector<std::pair<int32_t, int64_t>> list;  // row of the key, edge
  rest_begin_.push_back(0);
  for (std::size_t row = 0; row < n; ++row) {
    const int64_t i = order_[row];
    band_begin_.push_back(static_cast<int32_t>(row));
    band_end_.push_back(static_cast<int32_t>(row) + (tokens.band_begin[i] < tokens.band_end[i] ? 1 : 0));
    list.clear();
    for (int64_t e = tokens.rest.begin[i]; e < tokens.rest.begin[i + 1]; ++e)
      list.emplace_back(place_[static_cast<std::size_t>(tokens.rest.keys[e])], e);
    std::sort(list.begin(), list.end());
    for (const auto& [key, edge] : list) {
      entry_of_edge_[static_cast<std::size_t>(edge)] = static_cast<uint32_t>(rest_keys_.size());
      rest_keys_.push_back(key);
    }
    rest_begin_.push_back(static_cast<int64_t>(rest_keys_.size()));
  }
  pattern_.band_begin = band_begin_.data();
  pattern_.band_end = band_end_.data();
  pattern_.rest = {tokens.n, rest_begin_.data(), rest_keys_.data()};
}

void TileLayout::transpose_reordered(const TransposedPatternView& transposed) {
  std::vector<std::pair<int32_t, uint32_t>> list;  // row of the query, entry
  own_begin_.push_back(0);
  for (const int64_t key : order_) {
    list.clear();
    for (int64_t e = transposed.rest.begin[key]; e < transposed.rest.begin[key + 1]; ++e)
      list.emplace_back(place_[static_cast<std::size_t>(transposed.rest.keys[e])],
                        entry_of_edge_[transposed.rest_edges[e]]);
    std::sort(list.begin(), list.end());
    for (const auto& [query, entry] : list) {
      own_queries_.push_back(query);
      own_entries_.push_back(entry);
    }
    own_begin_.push_back(static_cast<int64_t>(own_queries_.size()));
  }
  rest_queries_ = {transposed.rest.rows, own_begin_.data(), own_queries_.data()};
  rest_entries_ = own_entries_.data();
}

bool TileLayout::alive(int64_t tile, int64_t lane) const {
  if (is_dense(tile)) return row(tile) + lane - dense_row_ < dense_rows();
  const int64_t i = row(tile) + lane;
  return i >= first_row_ && i < pattern_.n && is_dense_row_[static_cast<std::size_t>(i)] == 0;
}

/// Adds the rows shift + [begin(lane), end(lane)) of a panel, `shift` a multiple of kLanes.
template <class Begin, class End>
void TileLayout::add_run(int64_t shift, const Begin& begin, const End& end) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    if (begin(lane) >= end(lane)) continue;
    first = std::min<int64_t>(first, begin(lane));
    last = std::max<int64_t>(last, end(lane));
  }
  if (last == 0) return;
  for (first = round_down(first); first < last; first += kLongestRun) {
    Run run;
    run.first = shift + first;
    run.count = std::min(round_up(last - first), kLongestRun);
    run.offset = weights_;
    run.whole_end = run.count;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t from = std::clamp<int64_t>(begin(lane) - first, 0, run.count);
      const int64_t to = std::clamp<int64_t>(end(lane) - first, 0, run.count);
      if (from < to) {
        run.begin[lane] = static_cast<int32_t>(from);
        run.end[lane] = static_cast<int32_t>(to);
      }
      run.whole_begin = std::max<int64_t>(run.whole_begin, run.begin[lane]);
      run.whole_end = std::min<int64_t>(run.whole_end, run.end[lane]);
    }
    weights_ += run.count * kLanes;
    runs_.push_back(run);
  }
}

void TileLayout::add_runs(int64_t tile) {
  const auto zero = [](int64_t) { return int64_t{0}; };
  // Of the array `of`; 0 for lanes that are no queries of the tile.
  const auto lane_of = [&](const int32_t* of) {
    return [this, tile, of](int64_t lane) -> int64_t { return alive(tile, lane) ? of[row(tile) + lane] : 0; };
  };
  if (is_dense(tile)) {
    add_run(0, zero,
            [&](int64_t lane) { return alive(tile, lane) ? pattern_.dense_row_end(token(row(tile) + lane)) : 0; });
    return;
  }
  add_run(0, lane_of(pattern_.band_begin), lane_of(pattern_.band_end));
  if (pattern_.dense_column_count > 0) {
    const auto left = lane_of(pattern_.column_left), right = lane_of(pattern_.column_right);
    bool apart = false;  // there are columns in the band of a lane
    for (int64_t lane = 0; lane < kLanes; ++lane) apart = apart || left(lane) < right(lane);
    const auto end = lane_of(pattern_.column_end);
    if (apart) add_run(column_row_, zero, left);
    if (apart)
      add_run(column_row_, right, end);
    else
      add_run(column_row_, zero, end);
  }
  if (pattern_.block > 0) add_block_runs(row(tile));
}

void TileLayout::add_block_runs(int64_t first) {
  const int64_t block = pattern_.block, from = std::max(first, first_row_);
  const int64_t last = std::min(first + kLanes, pattern_.n);
  for (int64_t c = from / block; c < pattern_.blocks.rows && c * block < last; ++c) {
    const auto inside = [&](int64_t lane) {
      const int64_t i = first + lane;
      return i >= from && i < last && i / block == c;
    };
    for (const int64_t e : pattern_.blocks.row(c))
      add_run(
          0, [&](int64_t lane) { return inside(lane) ? e * block : 0; },
          [&](int64_t lane) { return inside(lane) ? std::min(pattern_.n, (e + 1) * block) : 0; });
  }
}

void TileLayout::transpose(const TransposedPatternView& transposed) {
  std::vector<int64_t> count(static_cast<std::size_t>(key_tiles()) + 1);
  const auto each = [&](const auto& use) {
    for (int64_t tile = 0; tile < tiles(); ++tile)
      for (int64_t number = run_begin(tile); number < run_end(tile); ++number)
        for (int64_t at = 0; at < run(number).count; at += kLanes)
          use((run(number).first + at) / kLanes, BlockOfKeys{tile, number, at, run(number).offset + at * kLanes});
  };
  each([&](int64_t j, const BlockOfKeys&) { ++count[static_cast<std::size_t>(j) + 1]; });
  std::partial_sum(count.begin(), count.end(), count.begin());
  block_begin_ = count;
  blocks_.resize(static_cast<std::size_t>(count.back()));
  each([&](int64_t j, const BlockOfKeys& block) {
    blocks_[static_cast<std::size_t>(count[static_cast<std::size_t>(j)]++)] = block;
  });

  if (reordered()) return transpose_reordered(transposed);
  rest_queries_ = transposed.rest;
  rest_entries_ = transposed.rest_edges;
  if (first_row_ == 0 || !has_rest()) return;
  own_begin_.push_back(0);
  for (int64_t j = 0; j < transposed.rest.rows; ++j) {
    for (int64_t e = transposed.rest.begin[j]; e < transposed.rest.begin[j + 1]; ++e) {
      if (transposed.rest.keys[e] < first_row_) continue;
      own_queries_.push_back(transposed.rest.keys[e]);
      own_entries_.push_back(transposed.rest_edges[e]);
    }
    own_begin_.push_back(static_cast<int64_t>(own_queries_.size()));
  }
  rest_queries_ = {transposed.rest.rows, own_begin_.data(), own_queries_.data()};
  rest_entries_ = own_entries_.data();
}

int64_t TileLayout::bytes() const {
  const auto of = [](const auto& values) { return static_cast<int64_t>(values.capacity() * sizeof(values[0])); };
  return of(token_) + of(is_dense_row_) + of(runs_) + of(run_begin_) + of(runs_end_) + of(offset_) + of(blocks_) +
         of(block_begin_) + of(order_) + of(place_) + of(band_begin_) + of(band_end_) + of(rest_keys_) +
         of(rest_begin_) + of(entry_of_edge_) + of(own_begin_) + of(own_queries_) + of(own_entries_);
}

}  // namespace longspan::kernels::diffusion

namespace longspan::kernels {

DiffusionLayout::DiffusionLayout(const PatternView& pattern, const TransposedPatternView& transposed) {
  const auto tiles = std::make_shared<diffusion::TileLayout>(pattern);
  tiles->transpose(transposed);
  tiles_ = tiles;
}

int64_t DiffusionLayout::weights() const { return tiles_->weights(); }
int64_t DiffusionLayout::bytes() const { return tiles_->bytes(); }

int64_t diffusion_weight_count(const PatternView& pattern, int64_t first_row) {
  return diffusion::TileLayout(pattern, first_row).weights();
}

}  // namespace longspan::kernels
