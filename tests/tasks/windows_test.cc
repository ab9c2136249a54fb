#include "longspan/tasks/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "longspan/tasks/options.h"
#include "tests/io/scratch_folder.h"

namespace longspan::tasks {
namespace {

using ::testing::ElementsAre;

TEST(Windows, CoverATextAndEndWithIt) {
  EXPECT_THAT(windows_over(10, 10, 3), ElementsAre(TokenSpan{0, 10}));
  EXPECT_THAT(windows_over(0, 4, 2), ElementsAre(TokenSpan{0, 0}));
  EXPECT_THAT(windows_over(11, 6, 2),
              ElementsAre(TokenSpan{0, 6}, TokenSpan{2, 8}, TokenSpan{4, 10}, TokenSpan{5, 11}));
  EXPECT_THAT(windows_over(9, 4, 0), ElementsAre(TokenSpan{0, 4}, TokenSpan{2, 6}, TokenSpan{4, 8}, TokenSpan{5, 9}));
  // A stride longer than the room would leave gaps.
  EXPECT_THAT(windows_over(9, 4, 100), ElementsAre(TokenSpan{0, 4}, TokenSpan{4, 8}, TokenSpan{5, 9}));
  for (int64_t tokens = 0; tokens < 40; ++tokens)
    for (int64_t room = 1; room < 8; ++room)
      for (int64_t stride = 0; stride < 9; ++stride) {
        const auto windows = windows_over(tokens, room, stride);
        EXPECT_EQ(windows.front().begin, 0);
        EXPECT_EQ(windows.back().end, tokens);
        // Whatever has at most room - stride + 1 tokens is whole in one of them.
        const int64_t step = std::min(stride > 0 ? stride : std::max<int64_t>(1, room / 2), room);
        const int64_t size = std::min(room - step + 1, tokens);
        for (int64_t begin = 0; begin + size <= tokens; ++begin)
          EXPECT_TRUE(std::ranges::any_of(windows,
                                          [&](const TokenSpan& window) {
                                            return window.begin <= begin && begin + size <= window.end &&
                                                   window.size() <= room;
                                          }))
              << tokens << " " << room << " " << stride << " " << begin;
      }
}

TEST(Windows, AreDrawnWithOneThatIsWanted) {
  EXPECT_THAT(drawn_windows(3, 0, {}, 1, 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(drawn_windows(3, 3, {1}, 1, 2), ElementsAre(0, 1, 2));
  std::set<std::vector<int64_t>> seen;
  std::set<int64_t> wanted;
  for (uint64_t stream = 0; stream < 500; ++stream) {
    const auto drawn = drawn_windows(5, 2, {1, 4}, 7, stream);
    EXPECT_EQ(drawn, drawn_windows(5, 2, {1, 4}, 7, stream));
    ASSERT_EQ(drawn.size(), 2u);
    EXPECT_LT(drawn[0], drawn[1]);
    EXPECT_TRUE(std::ranges::count(drawn, 1) || std::ranges::count(drawn, 4));
    seen.insert(drawn);
  }
  EXPECT_EQ(seen.size(), 7u);  // every pair that has one of the two
}

TEST(Windows, AreTheDefaultOfQuestions) {
  using models::HeadKind;
  for (const HeadKind kind : {HeadKind::question, HeadKind::choice})
    EXPECT_TRUE(in_windows(LongTexts::automatic, kind));
  for (const HeadKind kind : {HeadKind::classification, HeadKind::multi_label}) {
    EXPECT_FALSE(in_windows(LongTexts::automatic, kind));
    EXPECT_TRUE(in_windows(LongTexts::windows, kind));
  }
  EXPECT_FALSE(in_windows(LongTexts::cut, HeadKind::question));
  EXPECT_FALSE(in_windows(LongTexts::windows, HeadKind::masked_language));
}

TEST(Windows, AreOptionsOfATask) {
  TaskOptions options;
  merge_json(options, {{"long_texts", "windows"}, {"stride", 64}, {"train_windows", 2}, {"learn_answers", "all"}});
  EXPECT_EQ(options.windows.long_texts, LongTexts::windows);
  EXPECT_EQ(options.windows.stride, 64);
  EXPECT_EQ(to_json(options)["learn_answers"], "all");
  EXPECT_EQ(error_of([&] {
              merge_json(options, {{"stride", -1}});
            }),
            "task: stride must be an integer from 0 to 1073741824, got -1");
}

}  // namespace
}  // namespace longspan::tasks
