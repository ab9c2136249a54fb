// The order of the tokens of pairs of one's own: a permutation that brings together what belongs together, and no part
// of the pattern.
#include "longspan/patterns/local_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "longspan/patterns/build.h"
#include "longspan/patterns/packed.h"

namespace longspan::patterns {
namespace {

std::vector<int32_t> shuffled(int64_t n) {
  std::vector<int32_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  std::mt19937 random(7);
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

/// Points of a square mesh that see those up to one step away, with numbers given.
Pattern mesh(int64_t side, const std::vector<int32_t>& number) {
  std::vector<int64_t> queries, keys;
  for (int64_t i = 0; i < side * side; ++i)
    for (int64_t j = 0; j < side * side; ++j) {
      if (std::abs(i / side - j / side) > 1 || std::abs(i % side - j % side) > 1) continue;
      queries.push_back(number[static_cast<std::size_t>(i)]);
      keys.push_back(number[static_cast<std::size_t>(j)]);
    }
  const EdgeList edges = edges_from_pairs(queries, keys, "mesh", side * side);
  return build_pattern(pattern_options("edges"), side * side, {.edges = &edges});
}

int64_t farthest(const PatternView& p) {
  std::vector<int64_t> place(static_cast<std::size_t>(p.n));
  for (int64_t at = 0; at < p.n; ++at) place[static_cast<std::size_t>(p.order[at])] = at;
  int64_t out = 0;
  for (int64_t i = 0; i < p.n; ++i)
    for (const int32_t key : p.rest.row(i))
      out = std::max(out, std::abs(place[static_cast<std::size_t>(i)] - place[static_cast<std::size_t>(key)]));
  return out;
}

TEST(LocalOrder, FindsAShuffledMesh) {
  constexpr int64_t side = 20, n = side * side;
  const Pattern pattern = mesh(side, shuffled(n));
  const PatternView p = pattern.view();
  ASSERT_NE(p.order, nullptr);
  std::vector<int32_t> sorted(p.order, p.order + n), all(n);
  std::iota(all.begin(), all.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all);
  // By diagonals, each of which has up to 2 side points under steps of one: two of them hold every pair.
  EXPECT_LE(farthest(p), 4 * side);
}

TEST(LocalOrder, LeavesWhatIsLocalAndWhatCannotBe) {
  std::vector<int32_t> numbered(400);
  std::iota(numbered.begin(), numbered.end(), 0);
  EXPECT_EQ(mesh(20, numbered).view().order, nullptr);
  const Pattern random = build_pattern(pattern_options("random", {{"r", int64_t{8}}}), 400);
  EXPECT_TRUE(local_order(random.view().rest).empty());
  EXPECT_TRUE(local_order(Pattern().view().rest).empty());
  // Tokens with a window lie as they are numbered.
  const EdgeList far =
      edges_from_pairs(std::vector<int64_t>{0, 30, 7, 50}, std::vector<int64_t>{50, 7, 61, 30}, "far", 64);
  EXPECT_NE(build_pattern(pattern_options("edges"), 64, {.edges = &far}).view().order, nullptr);
  EXPECT_EQ(build_pattern(pattern_options("edges+window_band"), 64, {.edges = &far}).view().order, nullptr);
  EXPECT_EQ(build_pattern(pattern_options("edges+global"), 64, {.edges = &far}).view().order, nullptr);
}

// A line, a ring whose pairs go one way, tokens by themselves and a pair: components one after the other.
TEST(LocalOrder, WalksEveryComponent) {
  constexpr int64_t n = 120;
  const std::vector<int32_t> number = shuffled(n);
  std::vector<int64_t> queries, keys;
  const auto add = [&](int64_t i, int64_t j) {
    queries.push_back(number[static_cast<std::size_t>(i)]);
    keys.push_back(number[static_cast<std::size_t>(j)]);
  };
  for (int64_t i = 0; i < 49; ++i) add(i, i + 1);
  for (int64_t i = 0; i < 40; ++i) add(60 + i, 60 + (i + 1) % 40);
  add(110, 111);
  const EdgeList edges = edges_from_pairs(queries, keys, "components", n);
  const Pattern pattern = build_pattern(pattern_options("edges", {{"self_loops", false}}), n, {.edges = &edges});
  const PatternView p = pattern.view();
  ASSERT_NE(p.order, nullptr);
  EXPECT_LE(farthest(p), 2);  // both ways round a ring
}

TEST(LocalOrder, TravelsWithThePatternAndIsNoPartOfIt) {
  const Pattern pattern = mesh(12, shuffled(144));
  const std::vector<int32_t> words = pack(pattern);
  const PackedPattern packed(words, "here");
  ASSERT_NE(packed.view().order, nullptr);
  EXPECT_TRUE(std::equal(packed.view().order, packed.view().order + 144, pattern.view().order));
  const Pattern again = packed.pattern();
  EXPECT_TRUE(std::equal(again.view().order, again.view().order + 144, pattern.view().order));

  PatternParts parts;  // the same pairs without an order
  const PatternView p = pattern.view();
  parts.n = p.n;
  parts.band_begin.assign(p.band_begin, p.band_begin + p.n);
  parts.band_end.assign(p.band_end, p.band_end + p.n);
  parts.rest.begin.assign(p.rest.begin, p.rest.begin + p.n + 1);
  parts.rest.keys.assign(p.rest.keys, p.rest.keys + p.rest.size());
  const Pattern plain(parts);
  EXPECT_EQ(plain.view().order, nullptr);
  EXPECT_EQ(plain, pattern);
  EXPECT_EQ(plain.identity(), pattern.identity());
}

}  // namespace
}  // namespace longspan::patterns
