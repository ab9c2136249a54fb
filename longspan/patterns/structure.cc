#include "longspan/patterns/structure.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/patterns/sampling.h"

namespace longspan::patterns {

namespace {

bool has(const std::vector<Generator>& generators, Generator generator) {
  return std::find(generators.begin(), generators.end(), generator) != generators.end();
}

/// The keys that one generator gives query i next to itself.
Interval window(const PatternOptions& o, Generator generator, int64_t i) {
  const auto chunks = [&] {  // of overlapping blocks: the half-blocks of i and j differ by at most 1
    const int64_t half = o.w / 2, own = i / half;
    return Interval{(own - 1) * half, (own + 2) * half};
  };
  const auto block = [&](int64_t width) { return Interval{i / width * width, (i / width + 1) * width}; };
  switch (generator) {
    case Generator::window_overlap:
      return chunks();
    case Generator::window_band:
      return {i - o.k, i + o.k + 1};
    case Generator::window_block:
      return block(o.b);
    case Generator::bigbird:
      return {(i / o.b - 1) * o.b, (i / o.b + 2) * o.b};
    case Generator::longformer:
      return o.longformer_window == LongformerWindow::chunks ? chunks() : Interval{i - o.w / 2, i + o.w / 2 + 1};
    case Generator::strided:
      return {o.l == 1 ? 0 : i - o.l, i};  // every key before i is a multiple of 1 away
    case Generator::fixed:
      return block(o.l);
    default:
      return {i, i};
  }
}

void make_band(const PatternOptions& o, const std::vector<Generator>& generators, PatternParts& parts) {
  parts.band_begin.resize(static_cast<std::size_t>(parts.n));
  parts.band_end.resize(static_cast<std::size_t>(parts.n));
  for (int64_t i = 0; i < parts.n; ++i) {
    const Interval keys = band_of(o, generators, i, parts.n);
    parts.band_begin[static_cast<std::size_t>(i)] = static_cast<int32_t>(keys.begin);
    parts.band_end[static_cast<std::size_t>(i)] = static_cast<int32_t>(keys.end);
  }
}

bool band_is_everything(const PatternParts& parts) {
  for (int64_t i = 0; i < parts.n; ++i)
    if (parts.band_begin[static_cast<std::size_t>(i)] > 0 ||
        parts.band_end[static_cast<std::size_t>(i)] < (parts.causal ? i + 1 : parts.n))
      return false;
  return true;
}

void sort_unique(std::vector<int32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void make_strips(const PatternOptions& o, const std::vector<Generator>& generators, const PatternInputs& inputs,
                 PatternParts& parts) {
  parts.dense_rows = global_tokens(o, generators, parts.n, inputs);
  if (has(generators, Generator::bigbird) && parts.n > 0) {
    const int64_t last = (parts.n - 1) / o.b * o.b;
    for (int64_t i = 0; i < std::min(o.b, parts.n); ++i) parts.dense_rows.push_back(static_cast<int32_t>(i));
    for (int64_t i = last; i < parts.n; ++i) parts.dense_rows.push_back(static_cast<int32_t>(i));
  }
  sort_unique(parts.dense_rows);
  parts.dense_columns = parts.dense_rows;
  if (has(generators, Generator::fixed)) {
    for (int64_t j = 0; j < parts.n; ++j)
      if (is_fixed_column(o, j)) parts.dense_columns.push_back(static_cast<int32_t>(j));
    sort_unique(parts.dense_columns);
  }
  for (const int32_t i : parts.dense_rows)
    parts.band_end[static_cast<std::size_t>(i)] = parts.band_begin[static_cast<std::size_t>(i)];
}

void make_blocks(const PatternOptions& o, const PatternInputs& inputs, Structure& out) {
  PatternParts& parts = out.parts;
  const int64_t rows = (parts.n + o.b - 1) / o.b;
  parts.block = o.b;
  const auto meets = [&](const std::vector<int32_t>& sorted, int64_t block) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), static_cast<int32_t>(block * o.b));
    return at != sorted.end() && *at < (block + 1) * o.b;
  };
  const auto meets_band = [&](int64_t row, int64_t column) {
    for (int64_t i = row * o.b; i < std::min((row + 1) * o.b, parts.n); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (std::max<int64_t>(parts.band_begin[at], column * o.b) <
          std::min<int64_t>(parts.band_end[at], (column + 1) * o.b))
        return true;
    }
    return false;
  };
  Sampler sampler;
  for (int64_t row = 0; row < rows; ++row) {
    // Free are all blocks but the first, the last, and this one with its neighbours; only those before, if causal.
    const int64_t before = std::max<int64_t>(row - 2, 0);  // blocks 1 .. row - 2
    const int64_t after = o.causal ? 0 : std::max<int64_t>(rows - 3 - row, 0);
    const bool middle = row > 0 && row < rows - 1;
    Draws draws(inputs.seed, Purpose::block_keys, inputs.layer, row);
    if (middle)
      for (const int32_t number : sampler.sample(draws, before + after, o.bigbird_r)) {
        const int64_t column = number < before ? number + 1 : number - before + row + 2;
        const bool whole =
            !meets(parts.dense_columns, column) && !meets(parts.dense_rows, row) && !meets_band(row, column);
        (whole ? parts.blocks : out.loose_blocks).keys.push_back(static_cast<int32_t>(column));
      }
    parts.blocks.begin.push_back(parts.blocks.size());
    out.loose_blocks.begin.push_back(out.loose_blocks.size());
  }
}

}  // namespace

Interval band_of(const PatternOptions& options, const std::vector<Generator>& generators, int64_t i, int64_t n) {
  // Every window touches the diagonal, so that their union is one interval.
  Interval keys = {i, i + (options.self_loops ? 1 : 0)};
  for (const Generator generator : generators) {
    const Interval more = window(options, generator, i);
    keys = {std::min(keys.begin, more.begin), std::max(keys.end, more.end)};
  }
  if (has(generators, Generator::full)) keys = {0, n};
  return {std::max<int64_t>(keys.begin, 0), std::min(keys.end, options.causal ? i + 1 : n)};
}

std::vector<int32_t> global_tokens(const PatternOptions& options, const std::vector<Generator>& generators, int64_t n,
                                   const PatternInputs& inputs) {
  std::vector<int32_t> tokens;
  if (!has(generators, Generator::global) && !has(generators, Generator::longformer)) return tokens;
  const auto add = [&](int64_t token) {
    if (token < n) tokens.push_back(static_cast<int32_t>(token));
  };
  if (inputs.global_tokens) {
    for (const int64_t token : *inputs.global_tokens) add(token);
  } else if (options.global_choice == GlobalChoice::list) {
    for (const int64_t token : listed_global_tokens(options)) add(token);
  } else if (options.global_choice == GlobalChoice::first) {
    for (int64_t token = 0; token < std::min(options.g, n); ++token) add(token);
  } else {
    const bool windowed = uses(options, Generator::window_overlap) || uses(options, Generator::longformer);
    // A causal pattern must not know how many tokens will follow.
    const int64_t low = windowed ? options.w : 0, high = options.causal ? options.max_len : n;
    Draws draws(inputs.seed, Purpose::global_tokens, inputs.layer, 0);
    Sampler sampler;
    for (const int32_t token : sampler.sample(draws, high - low, options.g)) add(low + token);
  }
  sort_unique(tokens);
  return tokens;
}

bool is_fixed_column(const PatternOptions& options, int64_t j) { return j % options.l >= options.l - options.c; }

void place_columns(PatternParts& parts, int64_t first) {
  if (parts.dense_columns.empty()) return;
  for (auto* values : {&parts.column_left, &parts.column_right, &parts.column_end})
    values->assign(static_cast<std::size_t>(parts.n), 0);
  const auto& columns = parts.dense_columns;
  const auto first_from = [&](int64_t key) {
    return static_cast<int32_t>(std::lower_bound(columns.begin(), columns.end(), key) - columns.begin());
  };
  const PatternView view = parts.view();
  for (int64_t i = first; i < parts.n; ++i) {
    if (view.is_dense_row(i)) continue;
    const auto at = static_cast<std::size_t>(i);
    parts.column_left[at] = first_from(parts.band_begin[at]);
    parts.column_right[at] = first_from(parts.band_end[at]);
    parts.column_end[at] = parts.causal ? first_from(i + 1) : static_cast<int32_t>(columns.size());
  }
}

Structure make_structure(const PatternOptions& options, const std::vector<Generator>& generators, int64_t length,
                         const PatternInputs& inputs) {
  Structure out;
  PatternParts& parts = out.parts;
  parts.n = length;
  parts.causal = options.causal;
  make_band(options, generators, parts);
  if (band_is_everything(parts)) return out;  // whatever else there is lies in it: one dense panel
  make_strips(options, generators, inputs, parts);
  if (has(generators, Generator::bigbird)) make_blocks(options, inputs, out);
  place_columns(parts);
  return out;
}

}  // namespace longspan::patterns
