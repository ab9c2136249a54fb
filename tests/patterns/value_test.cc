// Patterns as values: identity, statistics, memory, the cache; inputs that are refused.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "definition.h"
#include "longspan/base/recently_used.h"
#include "longspan/patterns/build.h"
#include "longspan/patterns/packed.h"
#include "longspan/patterns/statistics.h"
#include "tests/io/scratch_folder.h"

namespace longspan::patterns {
namespace {

Pattern small(const std::string& name, const FieldValues& values, int64_t n, const PatternInputs& inputs = {}) {
  return build_pattern(pattern_options(name, values), n, inputs);
}

TEST(PatternValue, CopiesShareAndEqualOnesAreEqual) {
  const Pattern empty;
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(empty.pairs(), 0);
  EXPECT_EQ(empty.density(), 0);
  const Pattern a = small("window_band+random", {}, 200), copy = a, b = small("window_band+random", {}, 200);
  EXPECT_EQ(copy.view().rest.keys, a.view().rest.keys);
  EXPECT_NE(b.view().rest.keys, a.view().rest.keys);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.identity(), b.identity());
  EXPECT_NE(a, small("window_band+random", {}, 201));
}

// Each part of a pattern counts: patterns that differ in one of them have another identity.
TEST(PatternValue, IdentitySeesEveryPiece) {
  const FieldValues causal = {{"causal", true}};
  const std::vector<Pattern> all = {
      Pattern(),
      small("window_band", {}, 90),
      small("window_band", {}, 91),
      small("window_band", {{"k", int64_t{31}}}, 90),
      small("window_band", causal, 90),
      small("global", {{"g", int64_t{2}}, {"global_choice", "first"}}, 90),
      small("global", {{"g", int64_t{3}}, {"global_choice", "first"}}, 90),
      small("fixed", {{"l", int64_t{10}}, {"c", int64_t{1}}}, 90),
      small("fixed", {{"l", int64_t{10}}, {"c", int64_t{2}}}, 90),
      small("bigbird", {{"b", int64_t{9}}}, 90),
      small("bigbird", {{"b", int64_t{9}}}, 90, {.seed = 1}),
      small("uniform", {}, 90),
      small("uniform", {{"uniform_r", int64_t{63}}}, 90),
  };
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_NE(all[a].identity(), all[b].identity()) << a << " " << b;
      EXPECT_NE(all[a], all[b]);
    }
}

TEST(PatternValue, GlobalTokensOfOneText) {
  const PatternOptions options =
      pattern_options("window_overlap+global+random", {{"w", int64_t{4}}, {"r", int64_t{2}}});
  const Pattern own = build_pattern(options, 30, {.global_tokens = {{20, 3, 3}}});
  EXPECT_EQ(own.view().dense_row_count, 2);
  EXPECT_EQ(own.view().dense_rows[0], 3);
  EXPECT_EQ(own.view().dense_rows[1], 20);
  EXPECT_EQ(own.counts().rest, 2 * 28);
  const FieldValues listed = {
      {"w", int64_t{4}}, {"r", int64_t{2}}, {"global_choice", "list"}, {"global_tokens", "3,20"}};
  EXPECT_EQ(own, small("window_overlap+global+random", listed, 30));
}

TEST(PatternValue, ManyThreadsMayAskForTheTranspose) {
  const Pattern pattern = small("table_s1", {}, 700);
  std::vector<TransposedPatternView> seen(4);
  std::vector<std::thread> threads;
  for (auto& view : seen) threads.emplace_back([&] { view = pattern.transposed(); });
  for (auto& thread : threads) thread.join();
  for (const auto& view : seen) EXPECT_EQ(view.rest.keys, seen[0].rest.keys);
}

TEST(PatternValue, BytesOfTheStructureAreNotThoseOfThePairs) {
  const Pattern pattern = small("window_overlap+global", {{"w", int64_t{512}}}, 16384);
  EXPECT_GT(pattern.pairs(), 12'000'000);
  EXPECT_LT(pattern.bytes(), 16384 * 40);
  const int64_t before = small("random", {}, 1000).bytes();
  EXPECT_GE(before, 1000 * 64 * 4);
  const Pattern random = small("random", {}, 1000);
  random.transposed();
  EXPECT_GE(random.bytes(), 3 * 1000 * 64 * 4);  // the keys, the queries, the numbers of the edges
}

TEST(Statistics, AgainstTheDefinition) {
  const FieldValues listed = {
      {"global_choice", "list"}, {"global_tokens", "7"}, {"r", int64_t{1}}, {"self_loops", false}};
  for (const Pattern& pattern :
       {small("global+random", listed, 20), small("uniform", {{"uniform_r", int64_t{2}}}, 12),
        small("window_block", {{"b", int64_t{5}}}, 23), small("bigbird", {{"b", int64_t{3}}}, 40),
        small("random", {{"r", int64_t{0}}, {"self_loops", false}}, 5), Pattern()}) {
    const int64_t n = pattern.size();
    std::vector<int64_t> out(n, 0), in(n, 0), label(n);
    std::iota(label.begin(), label.end(), 0);
    const Pairs pairs = pairs_of(pattern.view());
    for (const auto& [i, j] : pairs) ++out[i], ++in[j];
    for (int64_t round = 0; round < n; ++round)
      for (const auto& [i, j] : pairs) label[i] = label[j] = std::min(label[i], label[j]);
    const PatternStatistics s = statistics(pattern.view());
    EXPECT_EQ(s.components, static_cast<int64_t>(std::set<int64_t>(label.begin(), label.end()).size()));
    if (n == 0) continue;
    EXPECT_EQ(s.degree_min, *std::min_element(out.begin(), out.end()));
    EXPECT_EQ(s.degree_max, *std::max_element(out.begin(), out.end()));
    EXPECT_DOUBLE_EQ(s.degree_mean, static_cast<double>(pairs.size()) / static_cast<double>(n));
    EXPECT_EQ(s.in_degree_min, *std::min_element(in.begin(), in.end()));
    EXPECT_EQ(s.in_degree_max, *std::max_element(in.begin(), in.end()));
    EXPECT_EQ(s.empty_rows, std::count(out.begin(), out.end(), 0));
  }
  EXPECT_EQ(statistics(small("window_block", {{"b", int64_t{5}}}, 23).view()).components, 5);
}

TEST(Statistics, TheMapHoldsEveryPair) {
  for (const int64_t cells : {1, 3, 7, 40, 100}) {
    const Pattern pattern = small("bigbird+random", {{"b", int64_t{3}}, {"r", int64_t{2}}}, 40);
    const PatternMap map = map_of(pattern.view(), cells);
    ASSERT_EQ(map.cells, std::min<int64_t>(cells, 40));
    const auto first = [&](int64_t cell) { return (cell * 40 + map.cells - 1) / map.cells; };
    double total = 0;
    for (const auto& share : map.share)
      for (int64_t row = 0; row < map.cells; ++row)
        for (int64_t column = 0; column < map.cells; ++column) {
          const double part = share[row * map.cells + column];
          EXPECT_TRUE(part >= 0 && part <= 1 + 1e-12);
          total += part * static_cast<double>((first(row + 1) - first(row)) * (first(column + 1) - first(column)));
        }
    // Sums of at most 40^2 terms below 1, each rounded twice.
    EXPECT_NEAR(total, static_cast<double>(pattern.pairs()), 1600 * 1600 * 0x1p-52);
  }
  EXPECT_EQ(map_of(Pattern().view(), 10).cells, 0);
}

// Texts of one length share a pattern, within a number of bytes.
TEST(RecentlyUsed, KeepsWhatWasAskedForLast) {
  const PatternOptions options = pattern_options("window_band+random");
  const auto bytes = [](const Pattern& pattern) { return pattern.bytes(); };
  int made = 0;
  const auto get = [&](RecentlyUsed<uint64_t, Pattern>& cache, uint64_t seed) {
    const auto make = [&] {
      ++made;
      return build_pattern(options, 500, {.seed = seed});
    };
    return cache.get(seed, make, bytes);
  };
  RecentlyUsed<uint64_t, Pattern> two(5 * build_pattern(options, 500).bytes() / 2);
  const Pattern first = get(two, 0);
  EXPECT_EQ(get(two, 0).view().rest.keys, first.view().rest.keys) << "the same memory";
  EXPECT_NE(get(two, 1), first);
  get(two, 0);
  EXPECT_EQ(made, 2);
  get(two, 2);  // the third: the one used longest ago goes
  get(two, 0);
  EXPECT_EQ(made, 3);
  get(two, 1);
  EXPECT_EQ(made, 4);
  RecentlyUsed<uint64_t, Pattern> tiny(1);
  const Pattern kept = get(tiny, 7);
  EXPECT_EQ(get(tiny, 7).view().rest.keys, kept.view().rest.keys) << "the newest always stays";
  RecentlyUsed<uint64_t, Pattern> few(int64_t{1} << 40, 2);
  made = 0;
  for (const uint64_t seed : {1, 2, 1, 3, 1, 2}) get(few, seed);
  EXPECT_EQ(made, 4) << "two values at most";
}

TEST(RecentlyUsed, KeepsTheValueOfTheFasterOfTwoThreads) {
  RecentlyUsed<int, int> cache(1000);
  const auto size = [](int) { return int64_t{1}; };
  const auto get = [&](const auto& make) { return cache.get(7, make, size); };
  EXPECT_EQ(get([&] { return get([] { return 1; }) + 1; }), 1) << "made while another thread was faster";
  EXPECT_EQ(get([] { return 3; }), 1);
}

TEST(Refused, WhatCannotBe) {
  const auto message = [](const std::string& name, const FieldValues& values, int64_t n,
                          const PatternInputs& inputs = {}) {
    return error_of([&] { small(name, values, n, inputs); });
  };
  EXPECT_EQ(message("full", {}, -1), "pattern: n must be at least 0, got -1");
  EXPECT_EQ(message("full", {}, int64_t{1} << 40), "pattern: n must be at most 2147483647, got 1099511627776");
  EXPECT_EQ(message("window_overlap", {{"pad_to_window", true}, {"w", int64_t{2147483646}}}, 100),
            "pattern: n must be at most 1 under pad_to_window with w = 2147483646, got 100");
  EXPECT_EQ(message("reference", {}, 4097), "pattern: fit=cut has max_len = 4096, too short for 4160 tokens");
  EXPECT_EQ(message("edges", {}, 5), "pattern: edges needs edges");
  const EdgeList edges = parse_edges("0 7\n", "some");
  EXPECT_EQ(message("full", {}, 9, {.edges = &edges}), "pattern: edges are given, but full has no generator edges");
  EXPECT_EQ(message("edges", {}, 7, {.edges = &edges}), "pattern: edges for 8 tokens in a pattern of 7");
  EXPECT_EQ(message("full", {}, 9, {.global_tokens = {{1}}}), "pattern: global tokens are given, but full has none");
  EXPECT_EQ(message("global", {}, 9, {.global_tokens = {{9}}}), "pattern: global token 9 is outside the 9 tokens");
  EXPECT_EQ(message("global", {}, 9, {.global_tokens = {{-1}}}), "pattern: global token -1 is outside the 9 tokens");
}

// The estimate covers the pattern, its transpose, and the words of which an operator takes a copy.
TEST(Refused, TheEstimateCoversWhatAnOperatorNeeds) {
  for (const char* name : {"random", "window_overlap+global+random", "uniform", "strided", "bigbird"}) {
    const PatternOptions options = pattern_options(name);
    const Pattern pattern = build_pattern(options, 2000);
    pattern.transposed();
    const auto words = static_cast<double>(pack(pattern).size() * sizeof(int32_t));
    EXPECT_LE(static_cast<double>(pattern.bytes()) + 2 * words, bytes_to_build(options, 2000)) << name;
  }
}

// Refused by arithmetic, before anything is allocated: none of these could be held.
TEST(Refused, MoreThanTheMemory) {
  for (const char* mode : {"per_row", "total"}) {
    const FieldValues values = {{"r", int64_t{1'000'000}}, {"random_mode", mode}};
    const std::string text = error_of([&] { small("random", values, 2'000'000'000); });
    EXPECT_NE(text.find("pattern: random of 2000000000 tokens would need "), std::string::npos) << text;
    EXPECT_NE(text.find(" bytes, more than the "), std::string::npos) << text;
  }
  EXPECT_NE(error_of([] { small("strided", {{"l", int64_t{1}}}, 2'000'000'000); }), "");
  const EdgeList far = parse_edges("2147483646 0\n", "some");
  EXPECT_NE(error_of([&] { small("edges", {}, far.n, {.edges = &far, .memory_limit = 1 << 30}); }), "");
  const double needed = bytes_to_build(pattern_options("random"), 1000);
  const auto limit = static_cast<int64_t>(needed);
  EXPECT_EQ(error_of([&] { small("random", {}, 1000, {.memory_limit = limit}); }), "");
  EXPECT_EQ(
      error_of([&] { small("random", {}, 1000, {.memory_limit = limit - 1}); }),
      str_cat("pattern: random of 1000 tokens would need ", limit, " bytes, more than the ", limit - 1, " there are"));
}

}  // namespace
}  // namespace longspan::patterns
