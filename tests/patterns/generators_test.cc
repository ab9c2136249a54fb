// Every generator against its definition, pair by pair, and against the closed forms of its count.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "definition.h"
#include "longspan/patterns/build.h"

namespace longspan::patterns {
namespace {

const std::vector<int64_t> kLengths = {0, 1, 2, 3, 5, 7, 8, 13, 16, 24, 31, 37};

std::vector<int64_t> global_tokens_of(const Pattern& pattern) {
  const PatternView view = pattern.view();
  return {view.dense_rows, view.dense_rows + view.dense_row_count};
}

/// Builds `name` at many lengths, with and without self-loops and the causal rule, and compares with definition(n).
template <class Definition>
void compare(const std::string& name, FieldValues values, const Definition& definition) {
  for (const bool loops : {true, false})
    for (const bool causal : {false, true}) {
      values["self_loops"] = loops;
      values["causal"] = causal;
      const PatternOptions options = pattern_options(name, values);
      for (const int64_t n : kLengths) {
        SCOPED_TRACE(str_cat(name, " n ", n, loops ? " loops" : "", causal ? " causal" : ""));
        const Pattern pattern = build_pattern(options, n);
        Pairs expected = definition(n);
        if (loops) expected = expected | diagonal(n);
        if (causal) expected = past(expected);
        EXPECT_EQ(pairs_of(pattern.view()), expected);
        EXPECT_EQ(pairs_of(pattern.view(), pattern.transposed()), expected);
        EXPECT_EQ(pattern.pairs(), static_cast<int64_t>(expected.size()));
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j) EXPECT_EQ(pattern.contains(i, j), expected.contains({i, j})) << i << " " << j;
      }
    }
}

TEST(Generators, Windows) {
  for (const int64_t w : {2, 6, 8, 64}) {
    compare("window_overlap", {{"w", w}}, [&](int64_t n) { return overlapping_blocks(n, w); });
    compare("longformer", {{"w", w}, {"g", int64_t{0}}, {"longformer_window", "chunks"}},
            [&](int64_t n) { return overlapping_blocks(n, w); });
    compare("longformer", {{"w", w}, {"g", int64_t{0}}}, [&](int64_t n) { return band(n, w / 2); });
  }
  for (const int64_t k : {0, 1, 5, 1000}) compare("window_band", {{"k", k}}, [&](int64_t n) { return band(n, k); });
  for (const int64_t b : {1, 4, 7, 1000})
    compare("window_block", {{"b", b}}, [&](int64_t n) { return equal_blocks(n, b); });
  compare("full", {}, all_pairs);
}

TEST(Generators, Global) {
  for (const std::string tokens : {"", "0", "3,4,5,20", "36,1,1"}) {
    std::vector<int64_t> listed;
    if (tokens == "0") listed = {0};
    if (tokens.size() == 8) listed = {3, 4, 5, 20};
    if (tokens == "36,1,1") listed = {1, 36};
    const FieldValues values = {{"global_choice", "list"}, {"global_tokens", tokens}};
    compare("global", values, [&](int64_t n) { return rows_and_columns(n, listed); });
    FieldValues more = values;
    more["w"] = int64_t{6};
    compare("window_overlap+global", more,
            [&](int64_t n) { return overlapping_blocks(n, 6) | rows_and_columns(n, listed); });
    compare("longformer", more, [&](int64_t n) { return band(n, 3) | rows_and_columns(n, listed); });
  }
  compare("global", {{"global_choice", "first"}, {"g", int64_t{3}}}, [](int64_t n) {
    return rows_and_columns(n, {0, 1, 2});
  });
}

TEST(Generators, Uniform) {
  for (const int64_t r : {0, 1, 4, 16, 100})
    compare("uniform", {{"uniform_r", r}}, [&](int64_t n) { return evenly_spaced(n, r); });
}

TEST(Generators, StridedAndFixed) {
  for (const int64_t l : {1, 3, 8, 100}) {
    compare("strided", {{"l", l}}, [&](int64_t n) { return strided_keys(n, l); });
    for (const int64_t c : {int64_t{1}, (l + 1) / 2, l})
      compare("fixed", {{"l", l}, {"c", c}}, [&](int64_t n) { return fixed_keys(n, l, c); });
  }
}

TEST(Generators, BigBirdFrame) {
  for (const int64_t b : {1, 3, 8, 100})
    compare("bigbird", {{"b", b}, {"bigbird_r", int64_t{0}}}, [&](int64_t n) { return bigbird_frame(n, b); });
}

TEST(Generators, UnionsHaveEachPairOnce) {
  const FieldValues listed = {{"global_choice", "list"}, {"global_tokens", "2,9,10,30"}};
  const auto with = [&](FieldValues more) {
    more.insert(listed.begin(), listed.end());
    return more;
  };
  const std::vector<int64_t> tokens = {2, 9, 10, 30};
  compare("window_band+window_block+window_overlap", {{"k", int64_t{2}}, {"b", int64_t{5}}, {"w", int64_t{4}}},
          [](int64_t n) { return band(n, 2) | equal_blocks(n, 5) | overlapping_blocks(n, 4); });
  compare("global+uniform+strided+fixed", with({{"uniform_r", int64_t{3}}, {"l", int64_t{5}}, {"c", int64_t{2}}}),
          [&](int64_t n) {
            return rows_and_columns(n, tokens) | evenly_spaced(n, 3) | strided_keys(n, 5) | fixed_keys(n, 5, 2);
          });
  compare("bigbird+global+window_band", with({{"b", int64_t{4}}, {"bigbird_r", int64_t{0}}, {"k", int64_t{6}}}),
          [&](int64_t n) { return bigbird_frame(n, 4) | rows_and_columns(n, tokens) | band(n, 6); });
  compare("full+global+bigbird", with({{"b", int64_t{4}}, {"bigbird_r", int64_t{2}}}), all_pairs);
}

TEST(Generators, CutIsTheLeadingSquare) {
  const int64_t length = 41;
  const FieldValues cut = {{"fit", "cut"}, {"max_len", length}};
  const auto with = [&](FieldValues more) {
    more.insert(cut.begin(), cut.end());
    return more;
  };
  const auto square = [&](const Pairs& pairs) { return [pairs](int64_t n) { return cut_to(pairs, n); }; };
  compare("window_overlap", with({{"w", int64_t{6}}}), square(overlapping_blocks(length, 6)));
  compare("uniform", with({{"uniform_r", int64_t{5}}}), square(evenly_spaced(length, 5)));
  compare("bigbird", with({{"b", int64_t{8}}, {"bigbird_r", int64_t{0}}}), square(bigbird_frame(length, 8)));
  compare("fixed+global",
          with({{"l", int64_t{6}}, {"c", int64_t{6}}, {"global_choice", "list"}, {"global_tokens", "5,40"}}),
          square(fixed_keys(length, 6, 6) | rows_and_columns(length, {5, 40})));
}

TEST(Generators, CutHasTheWholePatternsRandomKeys) {
  for (const char* mode : {"per_row", "total"}) {
    const FieldValues diffuser = {{"random_mode", mode}, {"r", int64_t{5}}, {"g", int64_t{6}}, {"w", int64_t{4}}};
    const FieldValues bigbird = {
        {"random_mode", mode}, {"r", int64_t{5}}, {"b", int64_t{4}}, {"bigbird_r", int64_t{2}}};
    for (auto [name, values] :
         {std::pair("window_overlap+global+random", diffuser), std::pair("bigbird+random", bigbird)}) {
      values["max_len"] = int64_t{60};
      const Pairs whole = pairs_of(build_pattern(pattern_options(name, values), 60, {.seed = 3}).view());
      values["fit"] = "cut";
      const PatternOptions cut = pattern_options(name, values);
      for (const int64_t n : {0, 1, 4, 30, 59, 60})
        EXPECT_EQ(pairs_of(build_pattern(cut, n, {.seed = 3}).view()), cut_to(whole, n)) << name << " " << n;
    }
  }
}

// Closed forms of the specification, B.2.
TEST(Counts, ClosedForms) {
  const auto pairs = [](const std::string& name, const FieldValues& values, int64_t n) {
    return build_pattern(pattern_options(name, values), n).pairs();
  };
  for (const int64_t n : {256, 1024})
    for (const int64_t w : {16, 64}) {
      const int64_t h = w / 2, N = n / h;
      EXPECT_EQ(pairs("window_overlap", {{"w", w}}, n), h * h * (3 * N - 2));
      EXPECT_EQ(pairs("window_band", {{"k", w}}, n), n * (2 * w + 1) - w * (w + 1));
      EXPECT_EQ(pairs("window_block", {{"b", w}}, n), n * w);
      EXPECT_EQ(pairs("global", {{"g", w}, {"self_loops", false}}, n), 2 * w * n - w * w);
      EXPECT_EQ(pairs("full", {}, n), n * n);
      for (const int64_t r : {0, 2, 3}) {
        const int64_t blocks = n / w;
        if (blocks < 5 + r) continue;  // fewer free blocks than r
        EXPECT_EQ(pairs("bigbird", {{"b", w}, {"bigbird_r", r}}, n),
                  w * w * (2 * blocks + 2 * (4 + r) + (blocks - 4) * (5 + r)));
      }
    }
  EXPECT_EQ(pairs("window_overlap", {{"w", int64_t{64}}}, 50), 50 * 50);
  for (const int64_t n : {100, 130, 1000, 1021}) {  // a last half-block of size s
    const int64_t h = 32, N = (n + h - 1) / h, s = n - (N - 1) * h;
    EXPECT_EQ(pairs("window_overlap", {}, n), (N - 1) * h * h + s * s + 2 * ((N - 2) * h * h + h * s)) << n;
  }
}

/// X = L + 2gn - g^2 - 2 sum loc + LGG of B.2 for given tokens, by the definition of each term.
int64_t union_count(int64_t n, int64_t w, const std::vector<int64_t>& tokens) {
  const int64_t h = w / 2, N = n / h, g = static_cast<int64_t>(tokens.size());
  int64_t count = h * h * (3 * N - 2) + 2 * g * n - g * g;
  for (const int64_t i : tokens) {
    count -= 2 * (i < h || i >= n - h ? 2 * h : 3 * h);
    for (const int64_t j : tokens) count += std::abs(i / h - j / h) <= 1;
  }
  return count;
}

TEST(Counts, UnionOfWindowsAndGlobalTokens) {
  for (const uint64_t seed : {0, 1, 2}) {
    const PatternOptions options = pattern_options("window_overlap+global", {{"g", int64_t{40}}});
    const Pattern pattern = build_pattern(options, 2048, {.seed = seed});
    const std::vector<int64_t> tokens = global_tokens_of(pattern);
    EXPECT_EQ(tokens.size(), 40);
    EXPECT_GE(tokens.front(), 64);  // drawn from those behind the first window
    EXPECT_EQ(pattern.pairs(), union_count(2048, 64, tokens));
  }
}

TEST(Counts, RandomKeysForEachQuery) {
  for (const uint64_t seed : {0, 1, 2}) {
    const PatternOptions options = pattern_options("window_overlap+global+random");
    const Pattern pattern = build_pattern(options, 2048, {.seed = seed});
    EXPECT_EQ(pattern.pairs(), union_count(2048, 64, global_tokens_of(pattern)) + (2048 - 64) * 64);
    EXPECT_EQ(pattern.counts().rest, (2048 - 64) * 64);
  }
}

// Of r n pairs from all n^2, those that fall outside the X others are new: a hypergeometric number.
TEST(Counts, RandomPairsFromAllWithinTheirSpread) {
  for (const auto& [name, n] : {std::pair("table_s1", int64_t{4096}), std::pair("table_s1", int64_t{8192})})
    for (const uint64_t seed : {0, 1, 2}) {
      const Pattern pattern = build_pattern(pattern_options(name), n, {.seed = seed});
      const auto drawn = static_cast<double>(128 * n), all = static_cast<double>(n * n);
      const double free = all - static_cast<double>(union_count(n, 64, global_tokens_of(pattern)));
      const double share = free / all, spread = std::sqrt(drawn * share * (1 - share) * (1 - drawn / all));
      EXPECT_NEAR(static_cast<double>(pattern.counts().rest), drawn * share, 6 * spread) << name << " " << n;
    }
}

// The paper's Table S.1 as far as it can be reproduced, B.3.
TEST(Counts, PublishedSparsity) {
  const auto percent = [](const std::string& name, const FieldValues& values, int64_t n, uint64_t seed = 0) {
    return 100 * build_pattern(pattern_options(name, values), n, {.seed = seed}).density();
  };
  EXPECT_DOUBLE_EQ(percent("window_overlap", {{"w", int64_t{512}}}, 4096), 100 * 46.0 / 256);
  EXPECT_DOUBLE_EQ(percent("window_overlap", {{"w", int64_t{512}}}, 8192), 100 * 94.0 / 1024);
  for (const uint64_t seed : {0, 1, 2}) {
    EXPECT_NEAR(percent("table_s1", {}, 4096, seed), 11.2, 0.05);
    EXPECT_NEAR(percent("table_s1", {}, 8192, seed), 5.7, 0.05);
  }
  EXPECT_DOUBLE_EQ(percent("bigbird", {}, 4096), 100 * 622.0 / 4096);
  EXPECT_DOUBLE_EQ(percent("bigbird", {}, 8192), 100 * 1262.0 / 16384);
}

// B.10, at 1,024 tokens with self-loops: shares of the pairs to four digits.
TEST(Counts, DensitiesAt1024) {
  const auto density = [](const std::string& name, const FieldValues& values) {
    return build_pattern(pattern_options(name, values), 1024).density();
  };
  const int64_t r = 16;
  EXPECT_NEAR(density("window_overlap", {}), .0918, 5e-5);
  EXPECT_NEAR(density("window_overlap+random", {{"r", r}}), .1074, 5e-5);
  EXPECT_NEAR(density("window_overlap+uniform", {{"uniform_r", r}}), .1072, 5e-5);
  // A global token in the last half-block has a smaller window, so that its row and column add 64 pairs more.
  EXPECT_NEAR(density("window_overlap+global", {{"g", r}}), .1199, 5e-5 + 4 * 64.0 / (1024 * 1024));
  EXPECT_NEAR(density("random", {{"r", int64_t{32}}}), .0322, 5e-5);
  EXPECT_NEAR(density("uniform", {{"uniform_r", int64_t{32}}}), .0322, 5e-5);
  EXPECT_NEAR(density("bigbird", {{"b", int64_t{32}}}), .2949, 5e-5);
}

// Golden G3's pattern: a band, one global token, one extra edge.
TEST(Counts, GoldenPatternOfSixTokens) {
  const std::vector<int64_t> query = {0}, key = {5};
  const EdgeList extra = edges_from_pairs(query, key, "extra", 6);
  const FieldValues values = {{"k", int64_t{1}}, {"global_choice", "list"}, {"global_tokens", "4"}};
  const Pattern pattern = build_pattern(pattern_options("window_band+global+edges", values), 6, {.edges = &extra});
  EXPECT_EQ(pattern.pairs(), 23);
  const Pairs expected = band(6, 1) | rows_and_columns(6, {4}) | Pairs{{0, 5}};
  EXPECT_EQ(pairs_of(pattern.view()), expected);
}

}  // namespace
}  // namespace longspan::patterns
