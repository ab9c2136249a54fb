#include "longspan/ops/diffusion/panels.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace longspan::ops::diffuse {
namespace {

/// Shorter tiles would be poor batched products.
constexpr int64_t kShortestTile = 32;

class Maker {
 public:
  Maker(const PatternView& pattern, int64_t first_row) : p_(pattern), first_(first_row) {
    dense_.resize(static_cast<std::size_t>(p_.n));
    for (int64_t a = 0; a < p_.dense_row_count; ++a) dense_[static_cast<std::size_t>(p_.dense_rows[a])] = 1;
  }

  std::vector<Panel> panels() {
    band();
    dense_columns();
    dense_rows();
    blocks();
    rest();
    return std::move(out_);
  }

 private:
  int64_t rows() const { return p_.n - first_; }
  bool is_dense(int64_t i) const { return dense_[static_cast<std::size_t>(i)] != 0; }

  Panel& add(int64_t tiles, int64_t queries, int64_t keys) {
    Panel& panel = out_.emplace_back();
    panel.tiles = tiles;
    panel.queries = queries;
    panel.keys = keys;
    const auto places = static_cast<std::size_t>(tiles * queries);
    panel.query.assign(places, rows());
    panel.key.assign(static_cast<std::size_t>(tiles * keys), -1);
    for (auto* limits : {&panel.begin, &panel.hole_begin, &panel.hole_end, &panel.end}) limits->assign(places, 0);
    return panel;
  }
  /// Puts query i at a place, with the keys of [begin, end) there.
  void put(Panel& panel, int64_t place, int64_t i, int64_t begin, int64_t end) const {
    const auto at = static_cast<std::size_t>(place);
    panel.query[at] = i - first_;
    panel.begin[at] = begin;
    panel.end[at] = end;
  }

  void band() {
    const auto has = [&](int64_t i) { return p_.band_begin[i] < p_.band_end[i]; };
    int64_t width = 0;
    for (int64_t i = first_; i < p_.n; ++i) width = std::max<int64_t>(width, p_.band_end[i] - p_.band_begin[i]);
    if (width == 0) return;
    const int64_t queries = std::min(rows(), std::max(kShortestTile, width / 2));
    const int64_t tiles = (rows() + queries - 1) / queries;
    std::vector<int64_t> start(static_cast<std::size_t>(tiles), 0);
    int64_t keys = 0;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t low = p_.n, high = 0;
      for (int64_t i = first_ + t * queries; i < std::min(p_.n, first_ + (t + 1) * queries); ++i)
        if (has(i)) {
          low = std::min<int64_t>(low, p_.band_begin[i]);
          high = std::max<int64_t>(high, p_.band_end[i]);
        }
      if (low < high) start[static_cast<std::size_t>(t)] = low;
      keys = std::max(keys, high - low);
    }
    Panel& panel = add(tiles, queries, keys);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t from = std::min(start[static_cast<std::size_t>(t)], p_.n - keys);
      const auto first = panel.key.begin() + t * keys;
      std::iota(first, first + keys, from);
      for (int64_t i = first_ + t * queries; i < std::min(p_.n, first_ + (t + 1) * queries); ++i)
        if (has(i)) put(panel, i - first_, i, p_.band_begin[i] - from, p_.band_end[i] - from);
    }
  }

  void dense_columns() {
    if (p_.dense_column_count == 0) return;
    Panel& panel = add(1, rows(), p_.dense_column_count);
    std::copy(p_.dense_columns, p_.dense_columns + p_.dense_column_count, panel.key.begin());
    for (int64_t i = first_; i < p_.n; ++i) {
      if (is_dense(i)) continue;
      put(panel, i - first_, i, 0, p_.column_end[i]);
      panel.hole_begin[static_cast<std::size_t>(i - first_)] = p_.column_left[i];
      panel.hole_end[static_cast<std::size_t>(i - first_)] = p_.column_right[i];
    }
  }

  void dense_rows() {
    const int32_t* const end = p_.dense_rows + p_.dense_row_count;
    const int32_t* const from = std::lower_bound(p_.dense_rows, end, first_);
    if (from == end) return;
    Panel& panel = add(1, end - from, p_.n);
    std::iota(panel.key.begin(), panel.key.end(), 0);
    for (const int32_t* row = from; row != end; ++row) put(panel, row - from, *row, 0, p_.dense_row_end(*row));
  }

  void blocks() {
    if (p_.block == 0 || p_.blocks.size() == 0) return;
    const int64_t b = p_.block, first_block = first_ / b, tiles = p_.blocks.rows - first_block;
    int64_t most = 0;
    for (int64_t t = 0; t < tiles; ++t)
      most = std::max(most, static_cast<int64_t>(p_.blocks.row(first_block + t).size()));
    if (most == 0) return;
    Panel& panel = add(tiles, b, most * b);
    for (int64_t t = 0; t < tiles; ++t) {
      const auto columns = p_.blocks.row(first_block + t);
      int64_t place = t * most * b;
      for (const int64_t e : columns)
        for (int64_t j = e * b; j < (e + 1) * b; ++j, ++place)
          if (j < p_.n) panel.key[static_cast<std::size_t>(place)] = j;
      for (int64_t a = 0; a < b; ++a) {
        const int64_t i = (first_block + t) * b + a;
        if (i < first_ || i >= p_.n || columns.empty()) continue;
        put(panel, t * b + a, i, 0, static_cast<int64_t>(columns.size()) * b);
      }
    }
  }

  void rest() {
    const int64_t pairs = p_.rest.size() - (p_.n == 0 ? 0 : p_.rest.begin[first_]);
    if (pairs == 0) return;
    int64_t lists = 0;
    for (int64_t i = first_; i < p_.n; ++i) lists += p_.rest.row(i).empty() ? 0 : 1;
    const auto keys = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((pairs + lists - 1) / lists)));
    int64_t tiles = 0;
    for (int64_t i = first_; i < p_.n; ++i) tiles += (static_cast<int64_t>(p_.rest.row(i).size()) + keys - 1) / keys;
    Panel& panel = add(tiles, 1, keys);
    panel.single_pairs = true;
    int64_t t = 0;
    for (int64_t i = first_; i < p_.n; ++i) {
      const auto list = p_.rest.row(i);
      for (std::size_t from = 0; from < list.size(); ++t) {
        const std::size_t count = std::min(list.size() - from, static_cast<std::size_t>(keys));
        std::copy_n(list.begin() + static_cast<std::ptrdiff_t>(from), count, panel.key.begin() + t * keys);
        put(panel, t, i, 0, static_cast<int64_t>(count));
        from += count;
      }
    }
  }

  const PatternView& p_;
  int64_t first_;
  std::vector<char> dense_;
  std::vector<Panel> out_;
};

}  // namespace

std::vector<Panel> make_panels(const PatternView& pattern, int64_t first_row) {
  return Maker(pattern, first_row).panels();
}

}  // namespace longspan::ops::diffuse
