#include "longspan/patterns/stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/patterns/rest.h"
#include "longspan/patterns/structure.h"

namespace longspan::patterns {

namespace {

void check_stream(const PatternOptions& options, const PatternInputs& inputs, int64_t tokens) {
  check(options);
  const PatternOptions left = without_generators(options, inputs.without);
  const std::string reason = length_dependence(left);
  LONGSPAN_CHECK(reason.empty(), "pattern: ", left.pattern, " cannot be continued: ", reason);
  LONGSPAN_CHECK(tokens >= 0 && tokens <= kMostTokens, "pattern: n must be from 0 to ", kMostTokens, ", got ", tokens);
}

bool has(const std::vector<Generator>& generators, Generator generator) {
  return std::find(generators.begin(), generators.end(), generator) != generators.end();
}

/// Whether queries have single keys, which may lie anywhere before them.
bool has_rest(const PatternOptions& options, const std::vector<Generator>& generators) {
  return (has(generators, Generator::random) && options.r > 0) || has(generators, Generator::strided);
}

}  // namespace

std::vector<int64_t> KeptTokens::positions() const {
  std::vector<int64_t> out = single;
  for (int64_t position = from; position < n; ++position) out.push_back(position);
  return out;
}

int64_t KeptTokens::row_of(int64_t position) const {
  if (position >= from) return position - from + static_cast<int64_t>(single.size());
  return std::lower_bound(single.begin(), single.end(), position) - single.begin();
}

KeptTokens kept_tokens(const PatternOptions& options, int64_t n, const PatternInputs& inputs) {
  check_stream(options, inputs, n);
  const std::vector<Generator> generators = generators_left(options, inputs);
  KeptTokens out;
  out.n = n;
  const std::vector<int32_t> global = global_tokens(options, generators, kMostTokens, inputs);
  const bool global_to_come = !global.empty() && global.back() >= n;
  if (has_rest(options, generators) || global_to_come) return out;
  out.from = std::min(n, band_of(options, generators, n, n + 1).begin);  // later bands begin no earlier
  for (const int32_t token : global)
    if (token < out.from) out.single.push_back(token);
  if (has(generators, Generator::fixed))
    for (int64_t j = 0; j < out.from; ++j)
      if (is_fixed_column(options, j)) out.single.push_back(j);
  std::sort(out.single.begin(), out.single.end());
  out.single.erase(std::unique(out.single.begin(), out.single.end()), out.single.end());
  return out;
}

namespace {

/// What `generators` give the `count` tokens that follow the kept ones, besides single keys.
Structure continued_structure(const PatternOptions& options, const std::vector<Generator>& generators,
                              const KeptTokens& kept, int64_t count, const PatternInputs& inputs) {
  const int64_t past = kept.size(), total = kept.n + count;
  Structure structure;
  PatternParts& parts = structure.parts;
  parts.n = past + count;
  parts.causal = true;
  parts.band_begin.assign(static_cast<std::size_t>(parts.n), 0);
  parts.band_end.assign(static_cast<std::size_t>(parts.n), 0);
  for (int64_t t = 0; t < count; ++t) {
    const Interval keys = band_of(options, generators, kept.n + t, total);
    const auto at = static_cast<std::size_t>(past + t);
    parts.band_begin[at] = static_cast<int32_t>(kept.row_of(keys.begin));
    parts.band_end[at] = static_cast<int32_t>(kept.row_of(keys.end));
  }

  for (const int32_t token : global_tokens(options, generators, total, inputs)) {
    const auto row = static_cast<int32_t>(kept.row_of(token));
    parts.dense_columns.push_back(row);
    if (token < kept.n) continue;
    parts.dense_rows.push_back(row);
    parts.band_end[static_cast<std::size_t>(row)] = parts.band_begin[static_cast<std::size_t>(row)];
  }
  if (has(generators, Generator::fixed)) {
    const auto add = [&](int64_t token) {
      if (is_fixed_column(options, token)) parts.dense_columns.push_back(static_cast<int32_t>(kept.row_of(token)));
    };
    for (const int64_t token : kept.single) add(token);
    for (int64_t token = kept.from; token < total; ++token) add(token);
    std::sort(parts.dense_columns.begin(), parts.dense_columns.end());
    parts.dense_columns.erase(std::unique(parts.dense_columns.begin(), parts.dense_columns.end()),
                              parts.dense_columns.end());
  }
  place_columns(parts, past);
  return structure;
}

}  // namespace

Pattern continued_pattern(const PatternOptions& options, const KeptTokens& kept, int64_t count,
                          const PatternInputs& inputs, const Parallel& parallel) {
  LONGSPAN_CHECK(count >= 0, "pattern: count must be at least 0, got ", count);
  check_stream(options, inputs, kept.n + count);
  const std::vector<Generator> generators = generators_left(options, inputs);
  Structure structure = continued_structure(options, generators, kept, count, inputs);
  PatternParts& parts = structure.parts;
  // With single keys everything is kept, so that rows are positions, of those that have left, too.
  if (has_rest(options, generators)) {
    std::optional<Structure> whole;
    if (!inputs.without.empty()) whole = continued_structure(options, generators_of(options), kept, count, inputs);
    parts.rest = make_rest(options, structure, whole ? *whole : structure, parts.n, inputs, parallel, kept.size());
  } else {
    parts.rest.begin.assign(static_cast<std::size_t>(parts.n) + 1, 0);
  }
  return Pattern(std::move(parts));
}

SeenPast seen_past(const Pattern& continued, int64_t past) {
  const PatternView p = continued.view();
  LONGSPAN_CHECK(past >= 0 && past <= p.n, "pattern: past must be from 0 to ", p.n, ", got ", past);
  LONGSPAN_ASSERT(p.block == 0, "a pattern with blocks is no stream's");
  std::vector<char> seen(static_cast<std::size_t>(past), p.dense_row_count > 0 ? 1 : 0);
  const auto see = [&](int64_t begin, int64_t end) {
    end = std::min(end, past);
    if (begin < end) std::fill(seen.begin() + begin, seen.begin() + end, 1);
  };
  for (int64_t i = past; i < p.n; ++i)
    for_each_run(p, i, [&](PatternPiece, int64_t begin, int64_t end) { see(begin, end); });
  SeenPast out;
  for (int64_t row = 0; row < past; ++row)
    if (seen[static_cast<std::size_t>(row)]) out.rows.push_back(row);
  const auto kept = static_cast<int64_t>(out.rows.size());
  if (kept == past) {
    out.pattern = continued;
    return out;
  }
  // Where a row stands then: behind those before it that are seen.
  std::vector<int32_t> place(static_cast<std::size_t>(p.n) + 1);
  for (std::size_t row = 0; row < place.size() - 1; ++row)
    place[row + 1] = place[row] + (row < seen.size() ? int32_t{seen[row]} : 1);
  const auto placed = [&](int64_t row) { return place[static_cast<std::size_t>(row)]; };
  PatternParts parts;
  parts.n = kept + p.n - past;
  parts.causal = p.causal;
  parts.band_begin.assign(static_cast<std::size_t>(parts.n), 0);
  parts.band_end = parts.band_begin;
  parts.rest.begin.assign(static_cast<std::size_t>(parts.n) + 1, 0);
  for (int64_t a = 0; a < p.dense_column_count; ++a)
    if (const int64_t column = p.dense_columns[a]; column >= past || seen[static_cast<std::size_t>(column)])
      parts.dense_columns.push_back(placed(column));
  for (int64_t i = past; i < p.n; ++i) {
    const auto to = static_cast<std::size_t>(placed(i));
    parts.band_begin[to] = placed(p.band_begin[i]);
    parts.band_end[to] = placed(p.band_end[i]);
    for (const int32_t key : p.rest.row(i)) parts.rest.keys.push_back(placed(key));
    parts.rest.begin[to + 1] = parts.rest.size();
  }
  place_columns(parts, kept);
  out.pattern = Pattern(std::move(parts));
  return out;
}

}  // namespace longspan::patterns
