// Patterns as one array of words: nothing is lost, and no words can lead a kernel astray.
#include "longspan/patterns/packed.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/patterns/build.h"

namespace longspan::patterns {
namespace {

std::vector<Pattern> samples() {
  const auto make = [](const std::string& name, const FieldValues& values, int64_t n) {
    return build_pattern(pattern_options(name, values), n);
  };
  const FieldValue yes = true;
  // A line whose tokens are numbered by chance: it has an order.
  std::vector<int64_t> from, to;
  for (int64_t i = 0; i < 30; ++i) {
    from.push_back(i * 12 % 31);
    to.push_back((i + 1) * 12 % 31);
  }
  const EdgeList line = edges_from_pairs(from, to, "line", 31);
  return {
      Pattern(),
      make("window_overlap+global+random", {{"w", int64_t{8}}, {"g", int64_t{3}}, {"r", int64_t{4}}}, 61),
      make("window_band+global+random",
           {{"k", int64_t{2}}, {"g", int64_t{3}}, {"r", int64_t{2}}, {"causal", yes}, {"max_len", int64_t{40}}}, 40),
      make("bigbird+random", {{"b", int64_t{4}}, {"bigbird_r", int64_t{2}}, {"r", int64_t{2}}}, 45),
      make("fixed", {{"l", int64_t{7}}, {"c", int64_t{2}}, {"causal", yes}}, 33),
      make("strided", {{"l", int64_t{5}}}, 33),
      make("random", {{"r", int64_t{2}}, {"self_loops", FieldValue(false)}}, 12),
      make("full", {}, 9),
      make("window_band", {}, 1),
      build_pattern(pattern_options("edges"), 31, {.edges = &line}),
  };
}

std::string refusal(const std::vector<int32_t>& words) {
  try {
    const PackedPattern packed(words, "here");
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// The number of each pair by key is that of the same pair by query.
void expect_own_pairs(const PatternView& p, const TransposedPatternView& t) {
  for (int64_t key = 0; key < t.rest.rows; ++key)
    for (int64_t e = t.rest.begin[key]; e < t.rest.begin[key + 1]; ++e) {
      const int64_t query = t.rest.keys[e], edge = t.rest_edges[e];
      ASSERT_TRUE(edge >= p.rest.begin[query] && edge < p.rest.begin[query + 1]) << query << " " << key;
      EXPECT_EQ(p.rest.keys[edge], key);
    }
}

TEST(PackedPattern, HoldsThePattern) {
  for (const Pattern& pattern : samples()) {
    const std::vector<int32_t> words = pack(pattern);
    const PackedPattern packed(words, "here");
    EXPECT_EQ(packed.pattern(), pattern);
    EXPECT_EQ(packed.pattern().identity(), pattern.identity());
    EXPECT_EQ(pack(packed.pattern()), words);
    // The transpose is that of the pattern.
    const TransposedPatternView expected = pattern.transposed(), got = packed.transposed();
    for (int64_t key = 0; key < pattern.size(); ++key) {
      EXPECT_EQ(got.band_begin[key], expected.band_begin[key]);
      EXPECT_EQ(got.band_end[key], expected.band_end[key]);
    }
    for (int64_t e = 0; e < expected.rest.size(); ++e) EXPECT_EQ(got.rest_edges[e], expected.rest_edges[e]);
  }
}

TEST(PackedPattern, ViewsMoveWithIt) {
  const std::vector<int32_t> words = pack(samples()[1]);
  PackedPattern packed(words, "here");
  const PackedPattern moved = std::move(packed);
  EXPECT_EQ(moved.pattern(), samples()[1]);
}

TEST(PackedPattern, RefusesEveryChangeOfAWord) {
  for (const Pattern& pattern : samples()) {
    const std::vector<int32_t> words = pack(pattern);
    for (std::size_t at = 0; at < words.size(); ++at)
      for (const uint32_t change : {1u, 0x100u, 0x80000000u, 0xFFFFFFFFu}) {
        std::vector<int32_t> changed = words;
        changed[at] = static_cast<int32_t>(static_cast<uint32_t>(changed[at]) ^ change);
        EXPECT_EQ(refusal(changed).rfind("here: expected a pattern as longspan::pattern makes it, got ", 0), 0u)
            << "word " << at;
      }
    for (std::size_t size = 0; size < words.size(); size += 7)
      EXPECT_NE(refusal(std::vector<int32_t>(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(size))), "");
    std::vector<int32_t> longer = words;
    longer.push_back(0);
    EXPECT_NE(refusal(longer), "");
  }
}

// With the check sum put right, words that break a rule are still refused, or are a pattern whose indices are in
// bounds: another key for one pair, say. A number that is far off is always refused, but for the check sum itself.
TEST(PackedPattern, ForgedWordsAreRefusedOrInBounds) {
  constexpr std::size_t kSum = 11;  // and the next
  int refused = 0;
  for (const Pattern& pattern : samples()) {
    const std::vector<int32_t> words = pack(pattern);
    for (std::size_t at = 2; at < words.size(); ++at)
      for (const int64_t change : {int64_t{1}, int64_t{-1}, int64_t{1000}, int64_t{-100000}}) {
        std::vector<int32_t> forged = words;
        forged[at] = static_cast<int32_t>(forged[at] + change);
        internal::forge_check_sum(forged);
        try {
          const PackedPattern packed(forged, "here");
          const PatternView& p = packed.view();
          const TransposedPatternView& t = packed.transposed();
          for (int64_t i = 0; i < p.n; ++i) {
            for_each_run(p, i, [&](PatternPiece, int64_t begin, int64_t end) {
              EXPECT_TRUE(begin >= 0 && begin <= end && end <= p.n);
            });
            EXPECT_TRUE(t.band_begin[i] >= 0 && t.band_begin[i] <= t.band_end[i] && t.band_end[i] <= p.n);
            for (const int32_t query : t.rest.row(i)) EXPECT_TRUE(query >= 0 && query < p.n);
          }
          expect_own_pairs(p, t);
          EXPECT_TRUE(std::abs(change) == 1 || at == kSum || at == kSum + 1 || p.n == 0) << at << " " << change;
        } catch (const InputError&) {
          ++refused;
        }
      }
  }
  EXPECT_GT(refused, 0);
}

// A kernel reads the weight of a pair among those of its query's rows: a number within bounds, but of another row,
// would lead it out of the weights formed so far.
TEST(PackedPattern, PairsOfAnotherRowAreRefused) {
  const std::vector<int32_t> words = pack(samples()[1]);
  const PackedPattern packed(words, "here");
  const int64_t edges = packed.view().rest.size();
  ASSERT_GT(edges, 1);
  // The numbers of pairs are the last words.
  for (int64_t e = 1; e < edges; ++e) {
    std::vector<int32_t> forged = words;
    std::swap(forged[forged.size() - static_cast<std::size_t>(e)],
              forged[forged.size() - static_cast<std::size_t>(e) - 1]);
    internal::forge_check_sum(forged);
    EXPECT_EQ(refusal(forged),
              "here: expected a pattern as longspan::pattern makes it, got one whose transposed rest cannot be");
  }
}

}  // namespace
}  // namespace longspan::patterns
