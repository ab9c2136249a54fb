// The random parts of patterns: what must hold of every draw, and that draws are fair and repeatable.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "definition.h"
#include "longspan/base/parallel.h"
#include "longspan/patterns/build.h"
#include "longspan/patterns/sampling.h"

namespace longspan::patterns {
namespace {

/// Whether `count` of `trials` is as likely as not with that probability: within six standard deviations.
void expect_fair(int64_t count, int64_t trials, double probability) {
  const double mean = static_cast<double>(trials) * probability;
  EXPECT_NEAR(static_cast<double>(count), mean, 6 * std::sqrt(mean * (1 - probability)));
}

TEST(Sampling, BelowIsFair) {
  Draws draws(5, Purpose::row_keys, 0, 0);
  std::vector<int64_t> counts(7, 0);
  for (int i = 0; i < 70000; ++i) ++counts[draws.below(7)];
  for (const int64_t count : counts) expect_fair(count, 70000, 1.0 / 7);
  // A bound just above 2^31: nearly half of the words are thrown away, and both halves stay equally likely.
  const uint32_t bound = (uint32_t{1} << 31) + 1;
  int64_t low = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint32_t value = draws.below(bound);
    ASSERT_LT(value, bound);
    low += value < bound / 2;
  }
  expect_fair(low, 20000, 0.5);
}

TEST(Sampling, EverySetIsEquallyLikely) {
  std::map<std::vector<int32_t>, int64_t> seen;
  Sampler sampler;
  for (int64_t row = 0; row < 30000; ++row) {
    Draws draws(1, Purpose::row_keys, 0, row);
    ++seen[sampler.sample(draws, 6, 3)];
  }
  EXPECT_EQ(seen.size(), 20);
  for (const auto& [set, count] : seen) {
    EXPECT_TRUE(std::is_sorted(set.begin(), set.end()));
    expect_fair(count, 30000, 1.0 / 20);
  }
}

// Few numbers of many are sorted, many are read from a map of bits: either way they ascend and nothing stays behind.
TEST(Sampling, NumbersAscendAndTheNextDrawIsNew) {
  Sampler used;
  for (const int64_t bound : {10, 64, 65, 5000, 200000})
    for (const int64_t count : {1, 3, 9, 60})
      for (int64_t row = 0; row < 3; ++row) {
        Draws draws(1, Purpose::row_keys, 0, row), same(1, Purpose::row_keys, 0, row);
        const std::vector<int32_t> numbers = used.sample(draws, bound, count);
        EXPECT_EQ(static_cast<int64_t>(numbers.size()), std::min(count, bound));
        EXPECT_TRUE(std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) == numbers.end());
        EXPECT_EQ(numbers, Sampler().sample(same, bound, count));
      }
}

TEST(Sampling, NeverMoreThanThereAre) {
  Sampler sampler;
  Draws draws(1, Purpose::row_keys, 0, 0);
  EXPECT_EQ(sampler.sample(draws, 4, 9), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(sampler.sample(draws, 0, 9), std::vector<int32_t>());
  EXPECT_EQ(sampler.sample(draws, -3, 0), std::vector<int32_t>());
  EXPECT_EQ(sampler.sample(draws, 1000, 0), std::vector<int32_t>());
}

TEST(Sampling, PairsAreDifferentAndFair) {
  const SerialParallel serial;
  const int64_t n = 6, seeds = 4000;
  for (const bool past : {false, true})
    for (const int64_t count : {0, 1, 4, 9, 14, 15, 30, 36, 99}) {
      const int64_t all = past ? 15 : 36, expected = std::min(count, all);
      std::map<std::pair<int64_t, int64_t>, int64_t> seen;
      for (int64_t seed = 0; seed < seeds; ++seed) {
        const Csr pairs = sample_pairs(n, past, count, static_cast<uint64_t>(seed), 0, serial);
        ASSERT_EQ(pairs.size(), expected);
        for (int64_t i = 0; i < n; ++i)
          for (int64_t e = pairs.begin[i]; e < pairs.begin[i + 1]; ++e) {
            ASSERT_TRUE(e == pairs.begin[i] || pairs.keys[e - 1] < pairs.keys[e]);
            ASSERT_LT(pairs.keys[e], past ? i : n);
            ++seen[{i, pairs.keys[e]}];
          }
      }
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < (past ? i : n); ++j)
          expect_fair(seen[{i, j}], seeds, static_cast<double>(expected) / static_cast<double>(all));
    }
}

std::vector<int64_t> tokens_of(const PatternView& view) {
  return {view.dense_rows, view.dense_rows + view.dense_row_count};
}

// Drawn from those behind the first window, all of them where they are fewer than g; causal ones whatever the length.
TEST(GlobalTokens, AreDrawnBehindTheFirstWindow) {
  const int64_t w = 6, g = 4;
  const auto tokens = [&](int64_t n, uint64_t seed, bool causal) {
    const FieldValues values = {{"w", w}, {"g", g}, {"causal", causal}, {"max_len", int64_t{20}}};
    return tokens_of(build_pattern(pattern_options("window_overlap+global", values), n, {.seed = seed}).view());
  };
  for (const int64_t n : {0, 1, 6, 7, 9, 10, 11, 20}) {
    const std::vector<int64_t> drawn = tokens(n, 3, false);
    EXPECT_EQ(static_cast<int64_t>(drawn.size()), std::clamp<int64_t>(n - w, 0, g)) << n;
    for (const int64_t token : drawn) EXPECT_TRUE(token >= w && token < n) << token;
  }
  const int64_t seeds = 4000;
  for (const bool causal : {false, true}) {
    std::map<int64_t, int64_t> seen;
    for (int64_t seed = 0; seed < seeds; ++seed)
      for (const int64_t token : tokens(causal ? 100 : 20, static_cast<uint64_t>(seed), causal)) ++seen[token];
    EXPECT_EQ(seen.size(), 14);
    for (int64_t token = w; token < 20; ++token) expect_fair(seen[token], seeds, 4.0 / 14);
  }
}

// Windows, global tokens and r random keys: r new ones for each query that is not global, or all that are left.
TEST(RandomKeys, ExactlySoManyNewOnes) {
  for (const bool causal : {false, true})
    for (const int64_t n : {0, 1, 2, 5, 17, 40})
      for (const int64_t r : {0, 1, 3, 1000}) {
        SCOPED_TRACE(str_cat("n ", n, " r ", r, " causal ", causal));
        const FieldValues values = {
            {"w", int64_t{4}}, {"g", int64_t{3}}, {"r", r}, {"causal", causal}, {"max_len", int64_t{40}}};
        const Pattern pattern = build_pattern(pattern_options("window_overlap+global+random", values), n, {.seed = 7});
        const Pairs pairs = pairs_of(pattern.view());
        const std::vector<int64_t> tokens = tokens_of(pattern.view());
        Pairs fixed = overlapping_blocks(n, 4) | rows_and_columns(n, tokens);
        if (causal) fixed = past(fixed);
        EXPECT_EQ((fixed - pairs).size(), 0);
        std::vector<int64_t> added(n, 0), had(n, 0);
        for (const auto& [i, j] : pairs - fixed) {
          EXPECT_TRUE(!causal || j < i);
          ++added[i];
        }
        for (const auto& [i, j] : fixed) had[i] += !causal || j < i;
        for (int64_t i = 0; i < n; ++i) {
          const bool global = std::find(tokens.begin(), tokens.end(), i) != tokens.end();
          EXPECT_EQ(added[i], global ? 0 : std::min(r, (causal ? i : n) - had[i])) << "query " << i;
        }
        EXPECT_EQ(pattern.counts().rest, static_cast<int64_t>((pairs - fixed).size()));
      }
}

TEST(RandomKeys, EveryFreeKeyIsEquallyLikely) {
  const int64_t n = 24, r = 4, seeds = 3000;
  const PatternOptions options = pattern_options("window_band+random", {{"k", int64_t{2}}, {"r", r}});
  std::map<std::pair<int64_t, int64_t>, int64_t> seen;
  for (int64_t seed = 0; seed < seeds; ++seed)
    for (const auto& pair : pairs_of(build_pattern(options, n, {.seed = static_cast<uint64_t>(seed)}).view()))
      ++seen[pair];
  const Pairs local = band(n, 2);
  for (int64_t i = 0; i < n; ++i) {
    int64_t free = 0;
    for (int64_t j = 0; j < n; ++j) free += !local.contains({i, j});
    for (int64_t j = 0; j < n; ++j)
      if (!local.contains({i, j})) expect_fair(seen[{i, j}], seeds, static_cast<double>(r) / static_cast<double>(free));
  }
}

TEST(RandomKeys, TotalDrawsWithoutLookingAtTheRest) {
  for (const bool causal : {false, true})
    for (const int64_t n : {0, 1, 2, 9, 30})
      for (const int64_t r : {0, 2, 20, 1000}) {
        const FieldValues alone = {{"r", r}, {"random_mode", "total"}, {"self_loops", false}, {"causal", causal}};
        const Pairs drawn = pairs_of(build_pattern(pattern_options("random", alone), n).view());
        const int64_t all = causal ? n * (n - 1) / 2 : n * n;
        EXPECT_EQ(static_cast<int64_t>(drawn.size()), std::min(r * n, all)) << n << " " << r;
        FieldValues more = alone;
        more["k"] = int64_t{2};
        const Pairs both = pairs_of(build_pattern(pattern_options("window_band+random", more), n).view());
        EXPECT_EQ(both, drawn | (causal ? past(band(n, 2)) : band(n, 2)));
      }
}

TEST(RandomBlocks, SoManyNewOnesInEachMiddleRow) {
  for (const bool causal : {false, true})
    for (const int64_t n : {20, 24, 43})
      for (const int64_t r : {1, 2, 100}) {
        const int64_t b = 4, blocks = (n + b - 1) / b;
        const FieldValues values = {{"b", b}, {"bigbird_r", r}, {"causal", causal}};
        const Pattern pattern = build_pattern(pattern_options("bigbird", values), n, {.seed = 11});
        const Pairs pairs = pairs_of(pattern.view());
        EXPECT_EQ(pattern.counts().rest, 0);
        const Pairs frame = causal ? past(bigbird_frame(n, b)) : bigbird_frame(n, b);
        EXPECT_EQ((frame - pairs).size(), 0);
        std::map<std::pair<int64_t, int64_t>, int64_t> extra;
        for (const auto& [i, j] : pairs - frame) ++extra[{i / b, j / b}];
        std::vector<int64_t> of_row(blocks, 0);
        for (const auto& [block, count] : extra) {
          EXPECT_EQ(count, b * b);
          ++of_row[block.first];
        }
        for (int64_t row = 0; row < blocks; ++row) {
          const bool edge = row == 0 || row == blocks - 1;
          const int64_t before = std::max<int64_t>(row - 2, 0), after = std::max<int64_t>(blocks - 3 - row, 0);
          EXPECT_EQ(of_row[row], edge ? 0 : std::min(r, before + (causal ? 0 : after))) << "block row " << row;
        }
      }
}

// The densities of the specification (B.6): `reference` draws for 4,096 tokens and cuts, so a shorter text has a share
// of the global tokens, which lie behind the first 64, and of the random keys. Spreads are hypergeometric.
TEST(Reference, DensitiesOfShorterTexts) {
  struct Case {
    int64_t n;
    double density;  // the specification's, to three digits
  };
  const PatternOptions options = pattern_options("reference");
  for (const Case& c : {Case{4096, 0.068}, Case{1024, 0.132}, Case{512, 0.215}})
    for (const uint64_t seed : {0, 1, 2}) {
      const Pattern pattern = build_pattern(options, c.n, {.seed = seed});
      const auto n = static_cast<double>(c.n), total = 4096.0, behind = total - 64;
      const double share = (n - 64) / behind;
      const double global_spread = std::sqrt(64 * share * (1 - share) * (behind - 64) / (behind - 1));
      EXPECT_NEAR(static_cast<double>(pattern.view().dense_row_count), 64 * share, 6 * global_spread);
      const auto rest = static_cast<double>(pattern.view().rest.size());
      const double free = n * n - (static_cast<double>(pattern.pairs()) - rest), drawn = 64 / total;
      const double rest_spread = std::sqrt(drawn * free * (1 - drawn) * (1 - free / (total * total)));
      EXPECT_NEAR(rest, drawn * free, 6 * rest_spread) << "64 n / 4,096 random keys a query, less those it has";
      // Of a global token about 2 n pairs.
      EXPECT_NEAR(pattern.density(), c.density, 0.0005 + 6 * (2 * global_spread / n + rest_spread / (n * n)));
    }
  EXPECT_EQ(build_pattern(options, 64).view().dense_row_count, 0) << "all tokens lie in the first window";
}

// Blocks that meet other pieces go to the rest; the pairs stay the same.
TEST(RandomBlocks, MeetingOtherPieces) {
  const FieldValues blocks = {{"b", int64_t{4}}, {"bigbird_r", int64_t{3}}};
  for (const bool causal : {false, true})
    for (const int64_t n : {30, 41, 64}) {
      FieldValues values = blocks;
      values["causal"] = causal;
      const Pattern alone = build_pattern(pattern_options("bigbird", values), n, {.seed = 2});
      values.insert({{"global_choice", "list"}, {"global_tokens", "9,22"}, {"k", int64_t{13}}});
      const Pattern more = build_pattern(pattern_options("bigbird+global+window_band", values), n, {.seed = 2});
      Pairs expected = rows_and_columns(n, {9, 22}) | band(n, 13);
      if (causal) expected = past(expected);
      EXPECT_EQ(pairs_of(more.view()), expected | pairs_of(alone.view()));
      EXPECT_EQ(pairs_of(more.view(), more.transposed()), expected | pairs_of(alone.view()));
    }
}

TEST(ParallelSeeds, DecideAndNothingElseDoes) {
  const ThreadPool two(2), five(5);
  for (const std::string name :
       {"table_s1", "window_overlap+global+random", "bigbird+random+uniform", "strided+random"})
    for (const bool causal : {false, true}) {
      const PatternOptions options = pattern_options(name, {{"causal", causal}});
      const Pattern once = build_pattern(options, 1500, {.seed = 4});
      for (const Parallel* parallel : std::vector<const Parallel*>{&two, &five}) {
        const Pattern again = build_pattern(options, 1500, {.seed = 4}, *parallel);
        EXPECT_EQ(again, once) << name;
        EXPECT_EQ(again.identity(), once.identity());
        const TransposedPatternView a = again.transposed(*parallel), b = once.transposed();
        EXPECT_TRUE(std::equal(a.rest.keys, a.rest.keys + a.rest.size(), b.rest.keys, b.rest.keys + b.rest.size()));
        EXPECT_TRUE(std::equal(a.rest_edges, a.rest_edges + a.rest.size(), b.rest_edges));
        EXPECT_EQ(again.csr(*parallel), once.csr());
      }
      for (const PatternInputs& other : {PatternInputs{.seed = 5}, PatternInputs{.seed = 4, .layer = 1}}) {
        const Pattern different = build_pattern(options, 1500, other);
        EXPECT_NE(different, once) << name;
        EXPECT_NE(different.identity(), once.identity());
      }
    }
}

// The draws of a seed are part of what a saved model computes: they must not change.
TEST(Seeds, GiveTheSamePatternsForEver) {
  struct Case {
    const char* name;
    int64_t n, pairs;
    uint64_t identity;
  };
  for (const Case& c : {Case{"table_s1", 4096, 1880023, 0x980b4d47abbdda20},
                        Case{"window_overlap+global+random", 1000, 265838, 0xdc611d9985f0db31},
                        Case{"bigbird", 1000, 533056, 0x40ae1ace95285539},
                        Case{"window_band+uniform", 1000, 124036, 0x6b74edc215956962}}) {
    const Pattern pattern = build_pattern(pattern_options(c.name), c.n);
    EXPECT_EQ(pattern.pairs(), c.pairs) << c.name;
    EXPECT_EQ(pattern.identity(), c.identity) << c.name;
  }
}

TEST(CausalPatterns, APrefixIsAPrefix) {
  const auto check_prefixes = [](const std::string& name, FieldValues values) {
    values["causal"] = true;
    values["max_len"] = int64_t{64};
    const PatternOptions options = pattern_options(name, values);
    EXPECT_EQ(length_dependence(options), "") << name;
    const Pairs whole = pairs_of(build_pattern(options, 80, {.seed = 9}).view());
    for (const int64_t n : {0, 1, 2, 7, 31, 64, 79})
      EXPECT_EQ(pairs_of(build_pattern(options, n, {.seed = 9}).view()), cut_to(whole, n)) << name << " " << n;
  };
  const int64_t w = 8, r = 3;
  check_prefixes("window_overlap+global+random", {{"w", w}, {"r", r}, {"g", int64_t{6}}});
  check_prefixes("window_overlap+global+random", {{"w", w}, {"r", r}, {"global_choice", "first"}, {"g", int64_t{3}}});
  check_prefixes("window_band+random", {{"k", w}, {"r", r}});
  check_prefixes("window_block+strided+random", {{"b", w}, {"r", r}, {"l", int64_t{5}}});
  check_prefixes("fixed+random", {{"l", w}, {"c", int64_t{2}}, {"r", r}});
  check_prefixes("longformer", {{"w", w}});
  check_prefixes("full", {});
}

}  // namespace
}  // namespace longspan::patterns
