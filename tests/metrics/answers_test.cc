#include "longspan/metrics/answers.h"

#include <gtest/gtest.h>

namespace longspan::metrics {
namespace {

struct Golden {
  const char* predicted;
  std::vector<std::string> answers;
  const char *squad_text, *triviaqa_text;
  double squad_exact, squad_f1, triviaqa_exact, triviaqa_f1;
};

const std::vector<Golden>& golden() {
  static const std::vector<Golden> cases = {
#include "tests/metrics/golden_answers.inc"
  };
  return cases;
}

TEST(Answers, AsThePublicDefinitions) {
  for (const Golden& each : golden()) {
    SCOPED_TRACE(each.predicted);
    EXPECT_EQ(normalized_answer(each.predicted), each.squad_text);
    EXPECT_EQ(normalized_answer(each.predicted, AnswerRules::triviaqa), each.triviaqa_text);
    EXPECT_EQ(exact_match(each.predicted, each.answers), each.squad_exact);
    EXPECT_DOUBLE_EQ(answer_f1(each.predicted, each.answers), each.squad_f1);
    EXPECT_EQ(exact_match(each.predicted, each.answers, AnswerRules::triviaqa), each.triviaqa_exact);
    EXPECT_DOUBLE_EQ(answer_f1(each.predicted, each.answers, AnswerRules::triviaqa), each.triviaqa_f1);
  }
}

TEST(Answers, TheEmptyOneIsRightWhereThereIsNone) {
  const std::vector<std::string> none, some = {"yes"};
  EXPECT_EQ(exact_match("", none), 1);
  EXPECT_EQ(answer_f1("", none), 1);
  EXPECT_EQ(exact_match("the", none), 1);  // it has no words
  EXPECT_EQ(exact_match("yes", none), 0);
  EXPECT_EQ(answer_f1("yes", none), 0);
  EXPECT_EQ(exact_match("", some), 0);
  EXPECT_EQ(answer_f1("", some), 0);
}

TEST(Answers, BytesThatAreNoTextAreCompared) {
  const std::vector<std::string> broken = {"x\xFF"};
  EXPECT_EQ(exact_match("X\xFF", broken), 1);
  EXPECT_EQ(exact_match("x", broken), 0);
}

TEST(Answers, TheBestThreshold) {
  // By doubt: a right one, "" where that is right, a wrong one, one that should be empty, a right one.
  const std::vector<DoubtedAnswer> answers = {
      {1, true, false, -3}, {1, false, true, -2}, {0, true, false, -1}, {0, false, false, 0.5}, {0.5, true, false, 2}};
  const BestThreshold best = best_threshold(answers);
  EXPECT_DOUBLE_EQ(best.score, 3.0 / 5);  // two empty ones and the first; all of them: 2.5
  EXPECT_EQ(best.doubt, -3);
  EXPECT_EQ(best_threshold({}).score, 0);
  const std::vector<DoubtedAnswer> nobody_knows = {{0, false, false, -1}};
  EXPECT_EQ(best_threshold(nobody_knows).score, 1);
  EXPECT_EQ(best_threshold(nobody_knows).doubt, 0);
}

}  // namespace
}  // namespace longspan::metrics
