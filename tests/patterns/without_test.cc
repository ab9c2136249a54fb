// Generators that leave a pattern when all are drawn: what the others have stays.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "definition.h"
#include "longspan/base/check.h"
#include "longspan/patterns/build.h"
#include "longspan/patterns/stream.h"

namespace longspan::patterns {
namespace {

FieldValue number(int64_t value) { return value; }

Pairs pairs(const PatternOptions& options, int64_t n, std::vector<Generator> without = {}) {
  const Pattern pattern = build_pattern(options, n, {.seed = 3, .without = std::move(without)});
  return pairs_of(pattern.view());
}

TEST(Without, RandomKeysAndGlobalTokensStay) {
  constexpr int64_t n = 60;
  for (const bool causal : {false, true}) {
    const PatternOptions options = pattern_options(
        "window_overlap+global+random",
        {{"w", number(8)}, {"g", number(3)}, {"r", number(2)}, {"max_len", number(60)}, {"causal", causal}});
    const Pattern whole = build_pattern(options, n, {.seed = 3});
    const PatternView p = whole.view();
    Pairs random;
    for (int64_t i = 0; i < n; ++i)
      for (const int32_t key : p.rest.row(i)) random.insert({i, key});
    ASSERT_GT(random.size(), 90u);
    const std::vector<int64_t> tokens(p.dense_rows, p.dense_rows + p.dense_row_count);
    const auto visible = [&](const Pairs& all) { return causal ? past(all) : all; };
    const Pairs window = visible(overlapping_blocks(n, 8)), global = visible(rows_and_columns(n, tokens));
    EXPECT_EQ(pairs(options, n), window | global | random | diagonal(n));
    EXPECT_EQ(pairs(options, n, {Generator::window_overlap}), global | random | diagonal(n));
    EXPECT_EQ(pairs(options, n, {Generator::global}), window | random | diagonal(n));
    EXPECT_EQ(pairs(options, n, {Generator::random}), window | global | diagonal(n));
    EXPECT_EQ(pairs(options, n, {Generator::window_overlap, Generator::global}), random | diagonal(n));
  }
}

// Pairs drawn from all belong to `random` wherever they lie.
TEST(Without, PairsThatTwoGeneratorsHaveStay) {
  constexpr int64_t n = 40;
  const FieldValues values = {{"k", number(6)}, {"r", number(5)}, {"random_mode", std::string("total")}};
  const PatternOptions both = pattern_options("window_band+random", values);
  FieldValues alone = values;
  alone.erase("k");
  const Pairs random = pairs(pattern_options("random", alone), n);
  const Pairs left = pairs(both, n, {Generator::window_band});
  EXPECT_EQ(left, random);
  EXPECT_FALSE((left - band(n, 6)).size() == left.size()) << "some lie in the window";
}

// Evenly spaced keys take places that random ones would have had.
TEST(Without, ListedKeysCountWhereRandomOnesAreDrawn) {
  constexpr int64_t n = 30;
  const FieldValues values = {{"uniform_r", number(5)}, {"r", number(4)}};
  const PatternOptions options = pattern_options("uniform+random", values);
  const Pairs whole = pairs(options, n), random = pairs(options, n, {Generator::uniform});
  EXPECT_EQ(whole, evenly_spaced(n, 5) | random | diagonal(n));
  EXPECT_EQ(random.size(), static_cast<std::size_t>(n * 5)) << "4 for each query, and itself";
  EXPECT_TRUE(((random - diagonal(n)) - evenly_spaced(n, 5)).size() == static_cast<std::size_t>(n * 4));
}

TEST(Without, AStreamLeavesThemOut) {
  constexpr int64_t n = 50;
  const PatternOptions options = pattern_options(
      "window_overlap+global+random",
      {{"w", number(6)}, {"g", number(3)}, {"r", number(2)}, {"max_len", number(30)}, {"causal", true}});
  for (const std::vector<Generator>& without :
       {std::vector{Generator::window_overlap}, std::vector{Generator::global}, std::vector{Generator::random},
        std::vector{Generator::window_overlap, Generator::random}}) {
    const PatternInputs inputs{.seed = 3, .without = without};
    const Pattern whole = build_pattern(options, n, inputs);
    for (int64_t begin = 0; begin < n; begin += 7) {
      const KeptTokens kept = kept_tokens(options, begin, inputs);
      const int64_t count = std::min<int64_t>(7, n - begin);
      const Pattern piece = continued_pattern(options, kept, count, inputs);
      const Pairs found = pairs_of(piece.view());
      std::vector<int64_t> positions = kept.positions();
      for (int64_t t = 0; t < count; ++t) positions.push_back(begin + t);
      Pairs wanted, got;
      for (const auto& [i, j] : pairs_of(whole.view()))
        if (i >= begin && i < begin + count) wanted.insert({i, j});
      for (const auto& [i, j] : found)
        got.insert({positions[static_cast<std::size_t>(i)], positions[static_cast<std::size_t>(j)]});
      EXPECT_EQ(got, wanted) << "from " << begin << " without " << without.size();
    }
  }
}

TEST(Without, RefusesWhatIsNotThere) {
  const PatternOptions options = pattern_options("window_band+random");
  EXPECT_THROW(pairs(options, 9, {Generator::global}), InputError);
  EXPECT_THROW(pairs(options, 9, {Generator::window_band, Generator::random}), InputError);
}

}  // namespace
}  // namespace longspan::patterns
