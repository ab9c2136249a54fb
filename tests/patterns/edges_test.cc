// Pairs of one's own: what is read, and every way in which it can be wrong.
#include "longspan/patterns/edges.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "definition.h"
#include "longspan/patterns/build.h"
#include "tests/io/scratch_folder.h"

namespace longspan::patterns {
namespace {

using Numbers = std::vector<int64_t>;

Pairs pairs_in(const EdgeList& edges) {
  Pairs out;
  for (int64_t i = 0; i < edges.n; ++i)
    for (const uint64_t pair : edges.of_query(i)) out.insert({i, static_cast<int64_t>(pair & 0xFFFFFFFF)});
  EXPECT_EQ(out.size(), edges.pairs.size());
  return out;
}

TEST(Edges, TextInAnyOrderWithBlanksAndRemarks) {
  const EdgeList edges = parse_edges("# query key\r\n\n3 1\n0\t2\n  3 , 0  \r\n0,2\n   \n3 1", "f");
  EXPECT_EQ(edges.n, 4);
  EXPECT_EQ(edges.duplicates, 2);
  EXPECT_EQ(pairs_in(edges), (Pairs{{0, 2}, {3, 0}, {3, 1}}));
  EXPECT_EQ(parse_edges("", "f").n, 0);
  EXPECT_EQ(parse_edges("", "f", 5).n, 5);
  EXPECT_EQ(parse_edges("0 1\n", "f", 5).n, 5);
}

TEST(Edges, BadTextNamesTheLine) {
  const auto refusal = [](const std::string& text, std::optional<int64_t> n = std::nullopt) {
    return error_of([&] { parse_edges(text, "f.txt", n); });
  };
  const std::string two = "expected two numbers, a query and a key";
  EXPECT_EQ(refusal("0 1\n2\n"), "f.txt:2: " + two);
  EXPECT_EQ(refusal("0 1\n\na b\n"), "f.txt:3: " + two);
  EXPECT_EQ(refusal("0 1 2\n"), "f.txt:1: " + two + ", and nothing after them");
  EXPECT_EQ(refusal("0,,1\n"), "f.txt:1: " + two);
  EXPECT_EQ(refusal("0 1.5\n"), "f.txt:1: " + two);
  EXPECT_EQ(refusal("0x1 2\n"), "f.txt:1: " + two);
  EXPECT_EQ(refusal("+1 2\n"), "f.txt:1: " + two);
  EXPECT_EQ(refusal(std::string("0 \0 1\n", 6)), "f.txt:1: " + two);
  EXPECT_EQ(refusal("0 -1\n"), "f.txt:1: the key must be from 0 to 2147483646, got -1");
  EXPECT_EQ(refusal("-7 1\n"), "f.txt:1: the query must be from 0 to 2147483646, got -7");
  EXPECT_EQ(refusal("0 1\n0 4\n", 4), "f.txt:2: the key must be from 0 to 3, got 4");
  EXPECT_EQ(refusal("5000000000 1\n"), "f.txt:1: the query must be from 0 to 2147483646, got 5000000000");
  EXPECT_EQ(refusal("1 99999999999999999999999\n"), "f.txt:1: '99999999999999999999999' is too large for a token");
  EXPECT_EQ(refusal("", -1), "f.txt: the number of tokens must be from 0 to 2147483647, got -1");
}

TEST(Edges, FromNumbers) {
  EXPECT_EQ(pairs_in(edges_from_pairs(Numbers{2, 0, 2}, Numbers{0, 1, 0}, "mine")), (Pairs{{0, 1}, {2, 0}}));
  EXPECT_EQ(error_of([] { edges_from_pairs(Numbers{1}, Numbers{}, "mine"); }), "mine: 1 queries, but 0 keys");
  EXPECT_EQ(error_of([] {
              edges_from_pairs(Numbers{0, 3}, Numbers{0, 0}, "mine", 3);
            }),
            "mine: pair 1: the query must be from 0 to 2, got 3");
  EXPECT_EQ(error_of([] { edges_from_pairs(Numbers{0}, Numbers{-3}, "mine"); }),
            "mine: pair 0: the key must be from 0 to 2147483646, got -3");
}

TEST(Edges, FromCompressedRows) {
  const EdgeList edges = edges_from_csr(Numbers{0, 3, 3, 4}, Numbers{2, 0, 2, 1}, "rows");
  EXPECT_EQ(edges.n, 3);
  EXPECT_EQ(edges.duplicates, 1);
  EXPECT_EQ(pairs_in(edges), (Pairs{{0, 0}, {0, 2}, {2, 1}}));
  EXPECT_EQ(edges_from_csr(Numbers{0}, Numbers{}, "rows").n, 0);
  const auto refusal = [](const Numbers& begin, const Numbers& keys, std::optional<int64_t> n = std::nullopt) {
    return error_of([&] { edges_from_csr(begin, keys, "rows", n); });
  };
  EXPECT_EQ(refusal({}, {}), "rows: the row pointers are empty; N + 1 are expected");
  EXPECT_EQ(refusal({1, 2}, {0, 0}), "rows: the first row pointer must be 0, got 1");
  EXPECT_EQ(refusal({0, 1}, {0, 0}), "rows: the last row pointer must be 2, the number of keys, got 1");
  EXPECT_EQ(refusal({0, 3}, {0, 0}), "rows: the last row pointer must be 2, the number of keys, got 3");
  EXPECT_EQ(refusal({0, 5, 2}, {0, 0}), "rows: row pointer 2 is 2, less than 5 before it");
  EXPECT_EQ(refusal({0, -1, 2}, {0, 0}), "rows: row pointer 1 is -1, less than 0 before it");
  EXPECT_EQ(refusal({0, 1, 2}, {0, 2}), "rows: row 1, entry 1: the key must be from 0 to 1, got 2");
  EXPECT_EQ(refusal({0, 1, 2}, {0, -2}), "rows: row 1, entry 1: the key must be from 0 to 1, got -2");
  EXPECT_EQ(refusal({0, 0}, {}, 3), "rows: 1 rows, but 3 tokens");
}

TEST(Edges, JoinOtherGenerators) {
  const EdgeList edges = parse_edges("0 1\n9 2\n5 5\n2 9\n4 3\n", "f", 10);
  const auto build = [&](const std::string& name, const FieldValues& values = {}) {
    return build_pattern(pattern_options(name, values), 10, {.edges = &edges});
  };
  EXPECT_EQ(pairs_of(build("edges", {{"self_loops", false}}).view()), pairs_in(edges));
  EXPECT_EQ(pairs_of(build("edges").view()), pairs_in(edges) | diagonal(10));
  EXPECT_EQ(pairs_of(build("edges", {{"causal", true}}).view()), past(pairs_in(edges)) | diagonal(10));
  const Pattern more = build("window_band+edges", {{"k", int64_t{1}}});
  EXPECT_EQ(pairs_of(more.view()), pairs_in(edges) | band(10, 1));
  EXPECT_EQ(more.counts().rest, 2);  // the others lie in the band
  const Pattern random = build("edges+random", {{"r", int64_t{3}}});
  EXPECT_EQ(random.pairs(), 10 + 4 + 10 * 3);
}

}  // namespace
}  // namespace longspan::patterns
