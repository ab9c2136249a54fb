// Questions with candidates, names of records, and answers that stand nowhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "longspan/data/records.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

using ::testing::ElementsAre;

class Choices : public ScratchFolder {
 protected:
  std::vector<ChoiceRecord> read(const std::string& file) {
    options_.inputs = {file};
    return read_choice_records(options_, progress_);
  }
  std::string refusal(const std::string& line) {
    const std::string error = error_of([&] { read(put("c.jsonl", line)); });
    const std::string place = path("c.jsonl") + ":1: ";
    EXPECT_TRUE(error.starts_with(place)) << error;
    return error.size() > place.size() ? error.substr(place.size()) : "";
  }

  RecordOptions options_;
  NullProgress progress_;
};

TEST_F(Choices, TextsToChooseByAreOneContext) {
  const auto records = read(put("c.jsonl", R"({"id": "w1", "question": "capital of x", "supports": ["one", "two"], )"
                                           R"("candidates": ["a", "b", "c"], "answer": "b"})"
                                           "\n"
                                           R"({"id": 7, "question": "q", "context": "text", "supports": ["no"], )"
                                           R"("candidates": ["a", "b"], "answer": "a"})"));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].context, "one\ntwo");
  EXPECT_THAT(records[0].candidates, ElementsAre("a", "b", "c"));
  EXPECT_EQ(records[0].answer, 1);
  EXPECT_EQ(records[0].id, "w1");
  EXPECT_EQ(records[1].context, "text");
  EXPECT_EQ(records[1].id, "7");
}

TEST_F(Choices, AContextThatIsNullIsNone) {
  const std::string record =
      R"({"question": "q", "context": null, "supports": ["t"], "candidates": ["a", "b"], "answer": "a"})";
  EXPECT_EQ(read(put("c.jsonl", record)).at(0).context, "t");
}

TEST_F(Choices, WithoutTheirAnswers) {
  options_.read_answers = false;
  EXPECT_EQ(read(put("c.jsonl", R"({"question": "q", "context": "t", "candidates": ["a", "b"]})"))[0].answer, -1);
}

TEST_F(Choices, FromCsv) {
  const auto records = read(put("c.csv", "question,context,candidates,answer\nq,t,a; b b ;c,b b\n"));
  EXPECT_THAT(records.at(0).candidates, ElementsAre("a", "b b", "c"));
  EXPECT_EQ(records[0].answer, 1);
}

TEST_F(Choices, RefuseWhatCannotBeChosen) {
  const std::string begin = R"({"question": "q", "context": "t", "candidates": )";
  EXPECT_EQ(refusal(begin + R"(["a"], "answer": "a"})"), "'candidates' must have at least two texts, got 1");
  EXPECT_EQ(refusal(begin + R"(["a", "a"], "answer": "a"})"), "the candidate 'a' stands twice");
  EXPECT_EQ(refusal(begin + R"(["a", ""], "answer": "a"})"), "'candidates' has an empty text");
  EXPECT_EQ(refusal(begin + R"(["a", 1], "answer": "a"})"), "'candidates' must be texts, got number");
  EXPECT_EQ(refusal(begin + R"(["a", "b"], "answer": "A"})"), "the answer 'A' is none of the 2 candidates");
  EXPECT_EQ(refusal(begin + R"(["a", "b"]})"), "has no field 'answer', only: question, context, candidates");
  EXPECT_EQ(refusal(R"({"question": "q", "supports": [], "candidates": ["a", "b"], "answer": "a"})"),
            "'supports' is empty");
  EXPECT_EQ(refusal(R"({"question": "q", "candidates": ["a", "b"], "answer": "a"})"),
            "has no field 'context', only: question, candidates, answer");
  EXPECT_EQ(refusal(R"({"id": 1.5, "question": "q", "context": "t", "candidates": ["a", "b"], "answer": "a"})"),
            "'id' must be text or a whole number, got number");
}

TEST_F(Choices, AliasesOfAnAnswerStandAnywhere) {
  options_.inputs = {put("q.jsonl", R"({"id": "t", "question": "q", "context": "one two", "answers": ["two"], )"
                                    R"("aliases": ["2", "II"]})"
                                    "\n"
                                    R"({"question": "q", "context": "one two", "answers": [], "aliases": "2"})"
                                    "\n"
                                    R"({"question": "q", "context": "one two", "answers": []})")};
  const auto records = read_question_records(options_, progress_);
  EXPECT_THAT(records[0].right_answers(), ElementsAre("two", "2", "II"));
  EXPECT_EQ(records[0].id, "t");
  EXPECT_FALSE(records[1].has_none());
  EXPECT_TRUE(records[2].has_none());
  EXPECT_TRUE(records[2].right_answers().empty());
}

}  // namespace
}  // namespace longspan
