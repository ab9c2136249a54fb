#include "longspan/patterns/stream.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/patterns/rest.h"
#include "longspan/patterns/structure.h"

namespace longspan::patterns {

namespace {

void check_stream(const PatternOptions& options, int64_t tokens) {
  check(options);
  const std::string reason = length_dependence(options);
  LONGSPAN_CHECK(reason.empty(), "pattern: ", options.pattern, " cannot be continued: ", reason);
  LONGSPAN_CHECK(tokens >= 0 && tokens <= kMostTokens, "pattern: n must be from 0 to ", kMostTokens, ", got ", tokens);
}

/// Whether queries have single keys, which may lie anywhere before them.
bool has_rest(const PatternOptions& options) {
  return (uses(options, Generator::random) && options.r > 0) || uses(options, Generator::strided);
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
  check_stream(options, n);
  const std::vector<Generator> generators = generators_of(options);
  KeptTokens out;
  out.n = n;
  const std::vector<int32_t> global = global_tokens(options, generators, kMostTokens, inputs);
  const bool global_to_come = !global.empty() && global.back() >= n;
  if (has_rest(options) || global_to_come) return out;
  out.from = std::min(n, band_of(options, generators, n, n + 1).begin);  // later bands begin no earlier
  for (const int32_t token : global)
    if (token < out.from) out.single.push_back(token);
  if (uses(options, Generator::fixed))
    for (int64_t j = 0; j < out.from; ++j)
      if (is_fixed_column(options, j)) out.single.push_back(j);
  std::sort(out.single.begin(), out.single.end());
  out.single.erase(std::unique(out.single.begin(), out.single.end()), out.single.end());
  return out;
}

Pattern continued_pattern(const PatternOptions& options, const KeptTokens& kept, int64_t count,
                          const PatternInputs& inputs, const Parallel& parallel) {
  LONGSPAN_CHECK(count >= 0, "pattern: count must be at least 0, got ", count);
  check_stream(options, kept.n + count);
  const std::vector<Generator> generators = generators_of(options);
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
  if (uses(options, Generator::fixed)) {
    const auto add = [&](int64_t token) {
      if (is_fixed_column(options, token)) parts.dense_columns.push_back(static_cast<int32_t>(kept.row_of(token)));
    };
    for (const int64_t token : kept.single) add(token);
    for (int64_t token = kept.from; token < total; ++token) add(token);
    std::sort(parts.dense_columns.begin(), parts.dense_columns.end());
    parts.dense_columns.erase(std::unique(parts.dense_columns.begin(), parts.dense_columns.end()),
                              parts.dense_columns.end());
  }
  place_columns(parts);
  if (!parts.dense_columns.empty())
    for (auto* values : {&parts.column_left, &parts.column_right, &parts.column_end})
      std::fill_n(values->begin(), past, 0);
  // With single keys everything is kept, so that rows are positions.
  if (has_rest(options))
    parts.rest = make_rest(options, structure, parts.n, inputs, parallel, past);
  else
    parts.rest.begin.assign(static_cast<std::size_t>(parts.n) + 1, 0);
  return Pattern(std::move(parts));
}

}  // namespace longspan::patterns
