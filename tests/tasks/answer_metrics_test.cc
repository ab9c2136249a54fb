#include "longspan/tasks/answer_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longspan::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

JudgedAnswer judged(const std::string& id, const std::string& text, double score, std::vector<std::string> right) {
  JudgedAnswer out{id, {}, std::move(right)};
  out.prediction.answer.text = text;
  out.prediction.answer.score = score;
  if (!text.empty()) out.prediction.best = {out.prediction.answer};
  return out;
}

TEST(AnswerMetrics, WhereEveryQuestionHasOne) {
  const auto metrics = answer_metrics({judged("", "The U-boat", 0, {"u boat", "it"}), judged("", "no", 0, {"yes"})});
  EXPECT_THAT(metrics, ElementsAre(Pair("exact_match", 0), Pair("f1", 0), Pair("triviaqa_exact_match", 0.5),
                                   Pair("triviaqa_f1", 0.5)));
}

TEST(AnswerMetrics, WhereSomeHaveNone) {
  std::vector<JudgedAnswer> answers = {judged("", "x y", 0, {"x"}), judged("", "", 0, {}), judged("", "z", 0, {})};
  answers[0].prediction.no_answer_score = -2;
  answers[1].prediction.no_answer_score = 1;
  answers[1].prediction.best = {answers[0].prediction.answer};  // left out, and rightly so
  answers[2].prediction.no_answer_score = -1;
  const double overlap = 2.0 / 3;  // of "x y" with "x"
  EXPECT_THAT(answer_metrics(answers), ElementsAre(Pair("exact_match", 1.0 / 3), Pair("f1", (overlap + 1) / 3),
                                                   Pair("has_answer_exact_match", 0), Pair("has_answer_f1", overlap),
                                                   Pair("no_answer_exact_match", 0.5),
                                                   Pair("best_f1", (overlap + 2) / 3), Pair("best_f1_threshold", -2)));
}

TEST(AnswerMetrics, TextsOfOneQuestionAnswerTogether) {
  const auto metrics = answer_metrics({judged("a", "left", -3, {"right"}), judged("b", "b", -1, {"b"}),
                                       judged("a", "right", -2, {}), judged("a", "", -0.5, {})});
  EXPECT_EQ(metrics::value_of(metrics, "exact_match"), 1);
  EXPECT_FALSE(metrics::value_of(metrics, "no_answer_exact_match"));
  EXPECT_EQ(metrics::value_of(answer_metrics({}), "f1"), 0);
}

}  // namespace
}  // namespace longspan::tasks
