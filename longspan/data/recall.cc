#include "longspan/data/recall.h"

#include <algorithm>
#include <numeric>

#include "longspan/base/check.h"
#include "longspan/base/rng.h"

namespace longspan {

namespace {

/// Keep the streams of rows and of their numbers of pairs apart from each other and from other users of a seed ("recl"
/// and "pair" in ASCII).
constexpr uint64_t kRow = 0x7265636C, kPairs = 0x70616972;

Rng rng_of(uint64_t purpose, RecallSplit split, uint64_t seed, uint64_t stream, uint64_t number) {
  return Rng(seed, stream_of({purpose, static_cast<uint64_t>(split), stream, number}));
}

/// A key and its values.
int64_t block(const RecallOptions& options) { return 1 + options.fact; }

/// Tokens of the row behind the facts in which questions may stand.
int64_t room(const RecallOptions& options, const RecallShape& shape) {
  const int64_t behind = shape.length + 1 - shape.pairs * block(options);
  return shape.span > 0 ? std::min(shape.span, behind) : behind;
}

int64_t asked(const RecallOptions& options, const RecallShape& shape) {
  const int64_t pairs = shape.pairs, values = block(options);
  LONGSPAN_CHECK(pairs >= 1 && pairs <= options.keys, "recall: pairs must be from 1 to keys = ", options.keys, ", got ",
                 pairs);
  LONGSPAN_CHECK(shape.length + 1 >= (pairs + 1) * values, "recall: ", pairs, pairs == 1 ? " pair" : " pairs",
                 " and a question take ", (pairs + 1) * values - 1, " tokens, got length ", shape.length);
  LONGSPAN_CHECK(shape.span == 0 || shape.span >= values, "recall: a question takes ", values, " tokens, got span ",
                 shape.span);
  return std::min(pairs, room(options, shape) / values);
}

}  // namespace

const FieldTable<RecallOptions>& recall_fields() {
  constexpr double kMany = 1 << 20;
  static const auto table =
      FieldTable<RecallOptions>("recall")
          .choice("task", &RecallOptions::task, {{"recall", RecallTask::recall}, {"copy", RecallTask::copy}},
                  "recall: many pairs of a key and a value; copy: one fact of several values")
          .integer("pairs", &RecallOptions::pairs, {1, kMany}, "most pairs of a row in training; copy has one")
          .integer("keys", &RecallOptions::keys, {1, kMany}, "tokens that are keys")
          .integer("values", &RecallOptions::values, {0, kMany}, "tokens that are values, 0 = 128, copy 256")
          .integer("fact", &RecallOptions::fact, {0, 4096}, "values behind a key, 0 = 1, copy 8")
          .integer("fillers", &RecallOptions::fillers, {1, kMany}, "tokens that say nothing")
          .integer("stages", &RecallOptions::stages, {1, 16},
                   "equal parts of training; the rows of each are twice as long as those of the one before");
  return table;
}

RecallOptions resolved(RecallOptions options) {
  recall_fields().validate(options);
  const bool copy = options.task == RecallTask::copy;
  if (options.values == 0) options.values = copy ? 256 : 128;
  if (options.fact == 0) options.fact = copy ? 8 : 1;
  if (copy) options.pairs = 1;
  LONGSPAN_CHECK(options.pairs <= options.keys, "recall: pairs must be at most keys = ", options.keys, ", got ",
                 options.pairs);
  return options;
}

Json to_json(const RecallOptions& options) {
  Json json = Json::object();
  const FieldValues values = recall_fields().values(options);
  for (const auto& info : recall_fields().infos()) json[info.name] = to_json(values.at(info.name));
  return json;
}

void merge_json(RecallOptions& options, const Json& json) {
  recall_fields().apply(options, to_field_values(json, "recall"));
}

int64_t recall_vocabulary(const RecallOptions& options) { return options.keys + options.values + options.fillers; }

std::string recall_word(const RecallOptions& options, int64_t token) {
  if (token < options.keys) return str_cat("k", token);
  token -= options.keys;
  return token < options.values ? str_cat("v", token) : str_cat("f", token - options.values);
}

int64_t recall_questions(const RecallOptions& options, const RecallShape& shape) {
  return asked(options, shape) * options.fact;
}

RecallRow recall_row(const RecallOptions& options, const RecallShape& shape, RecallSplit split, uint64_t seed,
                     uint64_t stream, uint64_t number) {
  const int64_t questions = asked(options, shape);
  Rng rng = rng_of(kRow, split, seed, stream, number);
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(rng.below(static_cast<uint64_t>(bound))); };
  // The first `count` of `all` become a uniform choice in uniform order.
  const auto draw = [&](std::vector<int64_t>& all, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      std::swap(all[static_cast<std::size_t>(i)],
                all[static_cast<std::size_t>(i + below(static_cast<int64_t>(all.size()) - i))]);
  };

  RecallRow row;
  row.tokens.reserve(static_cast<std::size_t>(shape.length + 1));
  std::vector<int64_t> keys(static_cast<std::size_t>(options.keys));
  std::iota(keys.begin(), keys.end(), 0);
  draw(keys, shape.pairs);
  for (int64_t pair = 0; pair < shape.pairs; ++pair) {
    row.tokens.push_back(keys[static_cast<std::size_t>(pair)]);
    for (int64_t i = 0; i < options.fact; ++i) row.tokens.push_back(options.keys + below(options.values));
  }

  std::vector<int64_t> order(static_cast<std::size_t>(shape.pairs));
  std::iota(order.begin(), order.end(), 0);
  draw(order, questions);
  const auto fill = [&] { row.tokens.push_back(options.keys + options.values + below(options.fillers)); };
  const int64_t first = shape.length + 1 - room(options, shape);
  while (static_cast<int64_t>(row.tokens.size()) < first) fill();
  // Selection sampling: every way to put the questions between the fillers is as likely as any other.
  int64_t left = questions, slots = room(options, shape) - questions * options.fact;
  for (; slots > 0; --slots) {
    if (below(slots) >= left) {
      fill();
      continue;
    }
    const auto from = order[static_cast<std::size_t>(questions - left)] * block(options);
    for (int64_t i = 0; i < block(options); ++i) {
      if (i > 0) row.questions.push_back(static_cast<int64_t>(row.tokens.size()) - 1);
      row.tokens.push_back(row.tokens[static_cast<std::size_t>(from + i)]);
    }
    --left;
  }
  return row;
}

RecallShape training_shape(const RecallOptions& options, int64_t length, RecallSplit split, uint64_t seed,
                           uint64_t stream, uint64_t number) {
  const int64_t most = std::min(options.pairs, (length + 1) / (2 * block(options)));
  LONGSPAN_CHECK(most >= 1, "recall: a pair and a question take ", 2 * block(options) - 1, " tokens, got length ",
                 length);
  Rng rng = rng_of(kPairs, split, seed, stream, number);
  return {length, 1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(most))), 0};
}

RecallShape measured_shape(const RecallOptions& options, int64_t pairs, int64_t length, int64_t span) {
  if (options.task == RecallTask::recall) return {length, pairs, span};
  return {length + 2 * block(options) - 1, 1, block(options)};
}

int64_t stage_length(const RecallOptions& options, int64_t length, int64_t step, int64_t steps) {
  const int64_t shortest = int64_t{1} << (options.stages - 1);
  LONGSPAN_CHECK(length % shortest == 0, "recall: length must be a multiple of ", shortest, " for ", options.stages,
                 " stages, got ", length);
  const int64_t stage = std::min(step * options.stages / std::max<int64_t>(steps, 1), options.stages - 1);
  return length >> (options.stages - 1 - stage);
}

}  // namespace longspan
