#include "longspan/tasks/metrics.h"

#include <gtest/gtest.h>

namespace longspan::tasks {
namespace {

using Labels = std::vector<std::vector<int64_t>>;

TEST(Metrics, F1OfOneLabelEach) {
  // Of label 0 two of three are found and one is claimed wrongly; of 1 one of one is found; 2 is never expected.
  const Labels expected = {{0}, {0}, {0}, {1}, {3}}, predicted = {{0}, {0}, {2}, {1}, {0}};
  const auto counts = count_labels(predicted, expected, 5);
  EXPECT_EQ(counts[0].right, 2);
  EXPECT_EQ(counts[0].wrong, 1);
  EXPECT_EQ(counts[0].missing, 1);
  EXPECT_DOUBLE_EQ(counts[0].f1(), 2.0 * 2 / (2 * 2 + 1 + 1));
  EXPECT_DOUBLE_EQ(micro_f1(counts), 3.0 / 5);  // of one label each it is the accuracy
  EXPECT_DOUBLE_EQ(exact_share(predicted, expected), 3.0 / 5);
  EXPECT_DOUBLE_EQ(macro_f1(counts), (2.0 / 3 + 1 + 0 + 0) / 4);  // label 4 is nowhere
}

TEST(Metrics, F1OfSeveralLabels) {
  const Labels expected = {{0, 1}, {}, {2}}, predicted = {{1, 2}, {0}, {2}};
  const auto counts = count_labels(predicted, expected, 3);
  EXPECT_DOUBLE_EQ(micro_f1(counts), 2.0 * 2 / (2 * 2 + 2 + 1));
  EXPECT_DOUBLE_EQ(macro_f1(counts), (0 + 1 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(exact_share(predicted, expected), 1.0 / 3);
  EXPECT_DOUBLE_EQ(exact_share(expected, expected), 1);
}

TEST(Metrics, OfNothing) {
  EXPECT_EQ(micro_f1({}), 0);
  EXPECT_EQ(macro_f1({}), 0);
  EXPECT_EQ(exact_share({}, {}), 0);
}

TEST(Metrics, AnswersAreComparedAsSquadDoes) {
  EXPECT_EQ(normalized_answer("  The quick-brown,\tAnd a  \"Fox\"! "), "quickbrown and fox");
  EXPECT_EQ(normalized_answer("Á la carte"), "Á la carte");
  const std::vector<std::string> answers = {"in the White House", "the White House"};
  EXPECT_EQ(exact_match("White house.", answers), 1);
  EXPECT_EQ(exact_match("White", answers), 0);
  EXPECT_DOUBLE_EQ(answer_f1("White", answers), 2.0 * 1 / (1 + 2));
  EXPECT_DOUBLE_EQ(answer_f1("white white house", answers), 2.0 * 2 / (3 + 2));  // a word counts as often as it stands
  EXPECT_EQ(answer_f1("elsewhere", answers), 0);
}

TEST(Metrics, TheEmptyAnswer) {
  const std::vector<std::string> none, some = {"yes"};
  EXPECT_EQ(exact_match("", none), 1);
  EXPECT_EQ(answer_f1("", none), 1);
  EXPECT_EQ(exact_match("yes", none), 0);
  EXPECT_EQ(answer_f1("yes", none), 0);
  EXPECT_EQ(exact_match("", some), 0);
  EXPECT_EQ(answer_f1("", some), 0);
}

}  // namespace
}  // namespace longspan::tasks
