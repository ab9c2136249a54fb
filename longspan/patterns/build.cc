#include "longspan/patterns/build.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/pattern_view.h"
#include "longspan/base/usable_memory.h"
#include "longspan/patterns/local_order.h"
#include "longspan/patterns/rest.h"
#include "longspan/patterns/structure.h"

namespace longspan::patterns {

namespace {

/// The length that the generators see.
int64_t generator_length(const PatternOptions& options, int64_t n) {
  return options.fit == Fit::cut ? options.max_len : padded_length(options, n);
}

/// Pairs that the rest can have at most.
double most_single_pairs(const PatternOptions& options, double n, int64_t edges) {
  double pairs = static_cast<double>(edges);
  const auto add = [&](Generator generator, double count) {
    if (uses(options, generator)) pairs += std::min(count, n * n);
  };
  add(Generator::random, n * static_cast<double>(options.r));
  add(Generator::uniform, n * static_cast<double>(options.uniform_r));
  if (options.l > 1) add(Generator::strided, n * n / (2 * static_cast<double>(options.l)));  // with 1 a band
  add(Generator::bigbird, n * static_cast<double>(options.bigbird_r) * static_cast<double>(options.b));
  return std::min(pairs, n * n);
}

void check_inputs(const PatternOptions& options, int64_t n, const PatternInputs& inputs) {
  LONGSPAN_CHECK(n >= 0, "pattern: n must be at least 0, got ", n);
  const int64_t most = kMostTokens - (options.pad_to_window ? options.w : 0);
  LONGSPAN_CHECK(n <= most, "pattern: n must be at most ", most,
                 options.pad_to_window ? str_cat(" under pad_to_window with w = ", options.w) : "", ", got ", n);
  const int64_t size = padded_length(options, n), length = generator_length(options, n);
  LONGSPAN_CHECK(size <= length, "pattern: fit=cut has max_len = ", options.max_len, ", too short for ", size,
                 " tokens");
  LONGSPAN_CHECK(!uses(options, Generator::edges) || inputs.edges, "pattern: ", options.pattern, " needs edges");
  LONGSPAN_CHECK(uses(options, Generator::edges) || !inputs.edges, "pattern: edges are given, but ", options.pattern,
                 " has no generator edges");
  if (inputs.edges) {
    LONGSPAN_CHECK(inputs.edges->n <= length, "pattern: edges for ", inputs.edges->n, " tokens in a pattern of ",
                   length);
  }
  if (inputs.global_tokens) {
    LONGSPAN_CHECK(uses(options, Generator::global) || uses(options, Generator::longformer),
                   "pattern: global tokens are given, but ", options.pattern, " has none");
    for (const int64_t token : *inputs.global_tokens)
      LONGSPAN_CHECK(token >= 0 && token < n, "pattern: global token ", token, " is outside the ", n, " tokens");
  }
  const double needed = bytes_to_build(options, n, inputs.edges ? static_cast<int64_t>(inputs.edges->pairs.size()) : 0);
  const auto limit = static_cast<double>(inputs.memory_limit > 0 ? inputs.memory_limit : usable_memory());
  LONGSPAN_CHECK(needed <= limit, "pattern: ", options.pattern, " of ", size, " tokens would need ",
                 std::llround(needed), " bytes, more than the ", std::llround(limit), " there are");
}

/// The first n tokens of a longer pattern, whose rest has only them already.
void cut(PatternParts& parts, int64_t n) {
  if (n == parts.n) return;
  const auto size = static_cast<std::size_t>(n);
  const auto last = static_cast<int32_t>(n);
  parts.n = n;
  for (auto* values : {&parts.band_begin, &parts.band_end}) {
    values->resize(size);
    for (int32_t& value : *values) value = std::min(value, last);
  }
  for (auto* tokens : {&parts.dense_rows, &parts.dense_columns})
    tokens->erase(std::lower_bound(tokens->begin(), tokens->end(), last), tokens->end());
  for (auto* values : {&parts.column_left, &parts.column_right, &parts.column_end}) values->clear();
  place_columns(parts);
  if (parts.block == 0) return;
  const int64_t blocks = (n + parts.block - 1) / parts.block;
  Csr kept;
  for (int64_t row = 0; row < blocks; ++row) {
    for (const int32_t block : parts.blocks.row(row))
      if (block < blocks) kept.keys.push_back(block);
    kept.begin.push_back(kept.size());
  }
  parts.blocks = std::move(kept);
}

}  // namespace

double bytes_to_build(const PatternOptions& options, int64_t n, int64_t edges) {
  const auto length = static_cast<double>(generator_length(options, n));
  const double pairs = most_single_pairs(options, length, edges);
  // Of each token band, columns, row pointers and their transposes: 48 bytes; of each pair of the rest the key and the
  // transpose with the edge number: 12. Then everything twice again, as words and as the tensor of them (packed.h), for
  // which no list has 64-bit row pointers: 36 and 12 bytes each time. While the rows are drawn no more is held than
  // that: the key and its copy, and from all pairs three copies. Pairs of one's own are ordered besides: places and
  // degrees while that is done, under the transpose's 8 bytes a pair, and the order, which is kept.
  const double order = uses(options, Generator::edges) ? 20 + 2 * 4 : 0;
  return length * (48 + 2 * 36 + order) + pairs * (12 + 2 * 12);
}

std::vector<Generator> generators_left(const PatternOptions& options, const PatternInputs& inputs) {
  return generators_of(without_generators(options, inputs.without));
}

Pattern build_pattern(const PatternOptions& options, int64_t n, const PatternInputs& inputs, const Parallel& parallel) {
  check(options);
  check_inputs(options, n, inputs);
  const int64_t size = padded_length(options, n);
  const int64_t length = generator_length(options, n);
  Structure structure = make_structure(options, generators_left(options, inputs), length, inputs);
  std::optional<Structure> whole;
  if (!inputs.without.empty()) whole = make_structure(options, generators_of(options), length, inputs);
  Csr rest = make_rest(options, structure, whole ? *whole : structure, size, inputs, parallel);
  PatternParts parts = std::move(structure.parts);
  cut(parts, size);
  parts.rest = std::move(rest);
  // Random keys have no order that would bring them together, and tokens that have a window lie as they are numbered.
  std::vector<int32_t> order;
  if (inputs.edges && parts.view().may_have_order()) order = local_order(parts.rest.view());
  return Pattern(std::move(parts), std::move(order));
}

}  // namespace longspan::patterns
