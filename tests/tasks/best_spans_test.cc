#include "longspan/tasks/best_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "longspan/base/rng.h"

namespace longspan::tasks {
namespace {

AnswerSpan as_tokens(TokenSpan span) { return {span.begin, span.end}; }

TEST(BestSpans, AreTheBestOfAll) {
  Rng rng(4);
  for (int trial = 0; trial < 50; ++trial) {
    // Few values, so that many are equal; pairs of tokens stand for one place, and the first two for nothing.
    std::vector<double> starts(12), ends(12);
    for (auto* values : {&starts, &ends})
      for (double& value : *values) value = static_cast<double>(rng.below(5));
    const auto bytes = [](TokenSpan span) { return AnswerSpan{span.begin / 2, std::max<int64_t>(span.end / 2, 1)}; };
    BestSpans spans(6);
    spans.add(starts.data(), ends.data(), 12, 4,
              [&](TokenSpan span) { return span.end <= 2 ? AnswerSpan{} : bytes(span); });
    std::map<std::pair<int64_t, int64_t>, double> all;
    for (int64_t first = 0; first < 12; ++first)
      for (int64_t last = first; last < 12 && last - first < 4; ++last) {
        const AnswerSpan place = bytes({first, last + 1});
        if (last + 1 <= 2 || place.begin >= place.end) continue;
        double& best = all.emplace(std::pair(place.begin, place.end), -1).first->second;
        best = std::max(best, starts[static_cast<std::size_t>(first)] + ends[static_cast<std::size_t>(last)]);
      }
    std::vector<double> expected;
    for (const auto& [place, score] : all) expected.push_back(score);
    std::ranges::sort(expected, std::ranges::greater());
    const auto found = spans.sorted();
    ASSERT_EQ(found.size(), 6u);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].score, expected[i]);
      EXPECT_EQ((all.at({found[i].bytes.begin, found[i].bytes.end})), found[i].score);
    }
  }
}

TEST(BestSpans, OfEqualsTheFirstOne) {
  const double zero[4] = {};
  BestSpans one(1);
  one.add(zero, zero, 4, 2, as_tokens);
  EXPECT_EQ(one.sorted().front().bytes, (AnswerSpan{0, 1}));
  BestSpans three(3);
  three.add(zero, zero, 4, 2, as_tokens);
  EXPECT_EQ(three.sorted()[2].bytes, (AnswerSpan{1, 2}));
  EXPECT_TRUE(BestSpans(1).sorted().empty());
}

TEST(BestSpans, OfTwoWindowsOnceWithTheHigherScore) {
  const double low[2] = {1, 1}, high[2] = {3, 3};
  BestSpans spans(10);
  spans.add(low, low, 2, 1, as_tokens);
  spans.add(high, high, 2, 1, [](TokenSpan span) { return AnswerSpan{span.begin + 1, span.end + 1}; });
  const auto found = spans.sorted();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].score, 6);
  EXPECT_EQ(found[2].bytes, (AnswerSpan{0, 1}));
  EXPECT_EQ(found[2].score, 2);
}

}  // namespace
}  // namespace longspan::tasks
