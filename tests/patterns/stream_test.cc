// Patterns of streams: what is kept is what later queries can have, and a continued pattern has the pairs of the whole.
#include "longspan/patterns/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "definition.h"
#include "longspan/base/check.h"

namespace longspan::patterns {
namespace {

struct Case {
  std::string name;
  FieldValues values;
  bool bounded;  ///< a long stream keeps a part
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name << " " << c.values.size(); }
};

PatternOptions causal(const Case& c) {
  FieldValues values = c.values;
  values["causal"] = true;
  return pattern_options(c.name, values);
}

FieldValue number(int64_t value) { return value; }

const std::vector<Case>& cases() {
  using std::string;
  static const std::vector<Case> out = {
      {"window_overlap", {{"w", number(6)}}, true},
      {"window_band", {{"k", number(4)}}, true},
      {"window_band", {{"k", number(0)}, {"self_loops", false}}, true},
      {"window_block", {{"b", number(5)}}, true},
      {"window_overlap+global", {{"w", number(4)}, {"g", number(3)}, {"max_len", number(20)}}, true},
      {"window_band+global", {{"k", number(2)}, {"g", number(4)}, {"global_choice", string("first")}}, true},
      {"window_block+global",
       {{"b", number(7)}, {"global_choice", string("list")}, {"global_tokens", string("3,17")}},
       true},
      {"longformer", {{"w", number(8)}}, true},
      {"longformer", {{"w", number(4)}, {"longformer_window", string("chunks")}, {"g", number(2)}}, true},
      {"fixed", {{"l", number(6)}, {"c", number(2)}}, true},
      {"fixed+window_band", {{"l", number(4)}, {"c", number(4)}, {"k", number(5)}}, true},
      {"global", {{"g", number(2)}, {"max_len", number(9)}}, true},
      {"strided", {{"l", number(5)}}, false},
      {"random", {{"r", number(2)}, {"self_loops", false}}, false},
      {"window_overlap+global+random",
       {{"w", number(4)}, {"g", number(3)}, {"r", number(2)}, {"max_len", number(30)}},
       false},
      {"strided+fixed+random", {{"l", number(6)}, {"c", number(1)}, {"r", number(1)}}, false},
      {"full", {}, false},
  };
  return out;
}

constexpr int64_t kLong = 60;  ///< queries up to here stand for all later ones

class StreamPatterns : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Patterns, StreamPatterns, ::testing::ValuesIn(cases()));

TEST_P(StreamPatterns, KeepWhatLaterQueriesHave) {
  const PatternOptions options = causal(GetParam());
  const Pairs whole = pairs_of(build_pattern(options, kLong, {.seed = 3}).view());
  std::set<int64_t> before;
  for (int64_t n = 0; n <= 40; ++n) {
    const KeptTokens kept = kept_tokens(options, n, {.seed = 3});
    const std::vector<int64_t> positions = kept.positions();
    ASSERT_EQ(static_cast<int64_t>(positions.size()), kept.size());
    ASSERT_TRUE(std::is_sorted(positions.begin(), positions.end()));
    const std::set<int64_t> now(positions.begin(), positions.end());
    for (std::size_t row = 0; row < positions.size(); ++row)
      EXPECT_EQ(kept.row_of(positions[row]), static_cast<int64_t>(row));
    std::set<int64_t> needed;
    for (const auto& [query, key] : whole)
      if (query >= n && key < n) needed.insert(key);
    for (const int64_t key : needed) EXPECT_TRUE(now.contains(key)) << "of " << n << " tokens " << key << " is needed";
    if (GetParam().bounded) {
      EXPECT_EQ(now, needed) << "after " << n;
    }
    for (const int64_t key : now) EXPECT_TRUE(key == n - 1 || before.contains(key)) << key << " after " << n;
    before = now;
  }
}

TEST_P(StreamPatterns, ContinueTheWhole) {
  const PatternOptions options = causal(GetParam());
  for (const int64_t n : {0, 1, 5, 8, 19, 33})
    for (const int64_t count : {0, 1, 2, 11, 20}) {
      const PatternInputs inputs = {.seed = 3};
      const Pairs whole = pairs_of(build_pattern(options, n + count, inputs).view());
      const KeptTokens kept = kept_tokens(options, n, inputs);
      const Pattern continued = continued_pattern(options, kept, count, inputs);
      ASSERT_EQ(continued.size(), kept.size() + count);
      Pairs expected;
      for (const auto& [query, key] : whole)
        if (query >= n) expected.insert({kept.row_of(query), kept.row_of(key)});
      EXPECT_EQ(pairs_of(continued.view()), expected) << n << " + " << count;
      EXPECT_EQ(pairs_of(continued.view(), continued.transposed()), expected) << n << " + " << count;
      // Over the rows that are seen: the same pairs by their places, and no row without one.
      const SeenPast seen = seen_past(continued, kept.size());
      const auto before = static_cast<int64_t>(seen.rows.size());
      ASSERT_EQ(seen.pattern.size(), before + count);
      Pairs found;
      std::set<int64_t> used;
      for (const auto& [query, key] : pairs_of(seen.pattern.view())) {
        const auto row = [&](int64_t at) {
          return at < before ? seen.rows[static_cast<std::size_t>(at)] : at - before + kept.size();
        };
        found.insert({row(query), row(key)});
        if (key < before) used.insert(key);
      }
      EXPECT_EQ(found, expected) << n << " + " << count;
      EXPECT_EQ(static_cast<int64_t>(used.size()), before) << n << " + " << count;
      EXPECT_EQ(seen.pattern.counts().rest, continued.counts().rest) << "in the pieces that they were in";
      EXPECT_EQ(seen.pattern.counts().band, continued.counts().band);
    }
}

TEST(StreamPatterns, KeepAConstantNumberOfTokens) {
  const PatternOptions options =
      pattern_options("window_overlap+global", {{"w", number(64)}, {"g", number(8)}, {"causal", true}});
  EXPECT_EQ(kept_tokens(options, 3000).size(), 3000) << "global tokens below 4,096 are still to come";
  for (const int64_t n : {5000, 100'000, 2'000'000'000}) {
    const KeptTokens kept = kept_tokens(options, n);
    EXPECT_EQ(kept.single.size(), 8u);
    EXPECT_LE(kept.size(), 8 + 64);
    EXPECT_LE(continued_pattern(options, kept, 1).pairs(), 8 + 64);
  }
}

TEST(StreamPatterns, RefuseThoseThatKnowTheLength) {
  const auto message = [](const std::string& name, const FieldValues& values) -> std::string {
    try {
      kept_tokens(pattern_options(name, values), 5);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("uniform", {{"causal", true}}),
            "pattern: uniform cannot be continued: uniform spaces its keys over all tokens");
  EXPECT_EQ(message("window_band", {}),
            "pattern: window_band cannot be continued: the pattern is not causal: tokens see those that follow");
}

}  // namespace
}  // namespace longspan::patterns
