// Where the answers of questions stand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "longspan/data/records.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

class Questions : public ScratchFolder {
 protected:
  std::vector<QuestionRecord> read(const std::string& file) {
    options_.inputs = {file};
    NullProgress progress;
    return read_question_records(options_, progress);
  }
  /// The answers in the context "Zoë ate an äpfel, an äpfel", as JSON gives them.
  std::vector<AnswerSpan> spans(const std::string& answers) {
    return read(put("q.jsonl", R"({"question": "?", "context": ")" + context_ + R"(", "answers": )" + answers + "}"))
        .front()
        .answers;
  }
  std::string refusal(const std::string& answers) {
    const std::string error = error_of([&] { spans(answers); });
    const std::string place = path("q.jsonl") + ":1: ";
    EXPECT_TRUE(error.starts_with(place)) << error;
    return error.size() > place.size() ? error.substr(place.size()) : "";
  }
  using Spans = std::vector<AnswerSpan>;

  const std::string context_ = "Zo\xC3\xAB ate an \xC3\xA4pfel, an \xC3\xA4pfel";
  RecordOptions options_;
};

TEST_F(Questions, EveryFormOfAnswer) {
  const Spans first = {{12, 18}}, second = {{23, 29}};
  EXPECT_EQ(context_.substr(12, 6), "\xC3\xA4pfel");
  EXPECT_EQ(context_.substr(23, 6), "\xC3\xA4pfel");
  EXPECT_EQ(spans(R"("äpfel")"), first);
  EXPECT_EQ(spans(R"(["äpfel"])"), first);
  EXPECT_EQ(spans(R"([{"text": "äpfel"}])"), first);
  EXPECT_EQ(spans(R"({"text": "äpfel", "start": 23})"), second);
  EXPECT_EQ(spans(R"({"start": 23, "end": 29})"), second);
  EXPECT_EQ(spans(R"({"text": "äpfel", "start": 23, "end": 29})"), second);
  EXPECT_EQ(spans(R"([{"text": "äpfel", "answer_start": 11}])"), first);
  EXPECT_EQ(spans(R"({"text": ["äpfel", "äpfel", "Zoë"], "answer_start": [21, 21, 0]})"), (Spans{{23, 29}, {0, 4}}));
  EXPECT_EQ(spans("[]"), Spans{});
  EXPECT_EQ(spans(R"({"text": [], "answer_start": []})"), Spans{});
}

TEST_F(Questions, AnswersThatAreRefused) {
  EXPECT_EQ(refusal(R"("pear")"), "the answer 'pear' is not in the context");
  EXPECT_EQ(refusal(R"({"text": "an", "start": 3})"),
            "byte 3 of the context, a border of an answer, is within a character");
  EXPECT_EQ(refusal(R"({"text": "ate", "answer_start": 5})"),
            "the answer 'ate' is not at character 5 of the context, where 'te ' stands");
  EXPECT_EQ(refusal(R"({"text": "an", "start": 99})"),
            "the answer 'an' is not at byte 99 of the context, where it has ended");
  EXPECT_EQ(refusal(R"({"text": "ate", "start": 5, "end": 9})"),
            "the answer 'ate' has 3 bytes, but 'end' - 'start' is 4");
  EXPECT_EQ(refusal(R"({"start": 5, "end": 5})"),
            "an answer from byte 5 to 5 is empty or beyond the 29 bytes of the context");
  EXPECT_EQ(refusal(R"({"start": 5, "end": 30})"),
            "an answer from byte 5 to 30 is empty or beyond the 29 bytes of the context");
  EXPECT_EQ(refusal(R"({"start": 0, "end": 3})"),
            "byte 3 of the context, a border of an answer, is within a character");
  EXPECT_EQ(refusal(R"({"start": -1, "end": 3})"),
            "'start' of an answer must be a whole number from 0 to 67108864, got -1");
  EXPECT_EQ(refusal(R"({"start": 1.5, "end": 3})"),
            "'start' of an answer must be a whole number from 0 to 67108864, got 1.5");
  EXPECT_EQ(refusal(R"({"start": 1})"), "an answer has neither 'text' nor both 'start' and 'end'");
  EXPECT_EQ(refusal(R"({"text": "ate", "end": 8})"), "an answer has 'end' but no 'start'");
  EXPECT_EQ(refusal(R"({"text": "ate", "start": 5, "answer_start": 4})"),
            "an answer has both 'start' (bytes) and 'answer_start' (characters)");
  EXPECT_EQ(refusal(R"({"text": ["ate"], "answer_start": [4, 5]})"),
            "the lists of 'answers' differ in length: 1 and 2");
  EXPECT_EQ(refusal(R"([""])"), "an answer is empty");
  EXPECT_EQ(refusal("7"), "'answers' must be texts or objects, got number");
  EXPECT_EQ(refusal(R"({"text": 7})"), "the text of an answer must be text, got number");
}

TEST_F(Questions, Csv) {
  const std::string file = put("q.csv",
                               "question,context,answers,start,end\n"
                               "who,anna ate,anna,,\n"
                               "what,\"a b; a b\",a b,5,\n"
                               "where,here,,0,4\n"
                               "when,here,,,\n");
  const auto records = read(file);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].question, "who");
  EXPECT_EQ(records[0].context, "anna ate");
  EXPECT_EQ(records[0].answers, (Spans{{0, 4}}));
  EXPECT_EQ(records[1].answers, (Spans{{5, 8}}));
  EXPECT_EQ(records[2].answers, (Spans{{0, 4}}));
  EXPECT_EQ(records[3].answers, Spans{});
  EXPECT_EQ(records[3].place.line, 5);
  put("q.csv", "question,context,answers,start\nwho,anna,anna,x\n");
  EXPECT_EQ(error_of([&] { read(file); }), file + ":2: 'start' must be a whole number from 0, got 'x'");
  put("q.csv", "question,context\nwho,anna\n");
  EXPECT_EQ(error_of([&] { read(file); }), file + ":2: has no field 'answers', only: question, context");
  const std::string text = put("q.txt", "who");
  EXPECT_EQ(error_of([&] { read(text); }), text +
                                               ": plain text has no questions; expected JSON Lines (.jsonl) or CSV "
                                               "(.csv), by the name or by the format given");
}

}  // namespace
}  // namespace longspan
