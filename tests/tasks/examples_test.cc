#include "longspan/tasks/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/scratch_folder.h"
#include "tests/tasks/small_tasks.h"

namespace longspan::tasks {
namespace {

using models::HeadKind;
using ::testing::ElementsAre;

constexpr int32_t kFirst = 256, kSeparator = 257;

TEST(Examples, ATextStandsBetweenItsSpecialTokens) {
  ExampleSet set;
  add_record(set, sequence_options(HeadKind::classification), TextRecord{"hi", {"a"}, place(1)});
  EXPECT_THAT(set.examples[0].windows[0].tokens, ElementsAre(kFirst, 'h', 'i', kSeparator));
  EXPECT_EQ(set.truncated, 0);
  EXPECT_EQ(set.tokens(), 4);
}

TEST(Examples, AnnouncesATextThatIsCut) {
  ExampleSet set;
  const auto options = sequence_options(HeadKind::classification, 8);
  add_record(set, options, TextRecord{"123456", {"a"}, place(1)});
  add_record(set, options, TextRecord{"1234567", {"b"}, place(2)});
  EXPECT_EQ(set.examples[1].windows[0].tokens, set.examples[0].windows[0].tokens);
  EXPECT_EQ(set.truncated, 1);
  EXPECT_EQ(set.longest_record, 9);
}

TEST(Examples, AMaskedLanguageModelReadsEverything) {
  ExampleSet set;
  auto options = sequence_options(HeadKind::masked_language, 8);
  options.whole_words = true;
  add_record(set, options, TextRecord{"ab cdefgh", {}, place(3)});
  ASSERT_EQ(set.size(), 2);
  EXPECT_THAT(set.examples[0].windows[0].tokens, ElementsAre(kFirst, 'a', 'b', ' ', 'c', 'd', 'e', kSeparator));
  EXPECT_THAT(set.examples[1].windows[0].tokens, ElementsAre(kFirst, 'f', 'g', 'h', kSeparator));
  EXPECT_THAT(set.examples[0].windows[0].word_starts, ElementsAre(1, 1, 0, 1, 1, 0, 0, 1));
  EXPECT_THAT(set.examples[1].windows[0].word_starts, ElementsAre(1, 0, 0, 0, 1));
  EXPECT_EQ(set.records, 1);
  EXPECT_EQ(set.truncated, 0);
  EXPECT_EQ(set.places[1].line, 3);
}

TEST(Examples, OneSeparatorBetweenTextsWhereTheTokenizerHasItSo) {
  ExampleSet set;
  auto options = sequence_options(HeadKind::question);
  options.special.between = 1;
  add_record(set, options, QuestionRecord{"q", "ab", {{1, 2}}, place(1)});
  const Sequence& question = set.examples[0].windows[0];
  EXPECT_THAT(question.tokens, ElementsAre(kFirst, 'q', kSeparator, 'a', 'b', kSeparator));
  EXPECT_EQ(question.context, (TokenSpan{3, 5}));
  EXPECT_EQ(question.answers[0].tokens, (TokenSpan{4, 5}));
  EXPECT_EQ(set.longest_record, 6);
  ExampleSet choices;
  options.kind = HeadKind::choice;
  add_record(choices, options, ChoiceRecord{"q", "ab", {"x", "y"}, 1, place(1)});
  const Sequence& choice = choices.examples[0].windows[0];
  EXPECT_THAT(choice.tokens,
              ElementsAre(kFirst, 'q', kSeparator, 'x', kSeparator, 'y', kSeparator, 'a', 'b', kSeparator));
  EXPECT_THAT(choice.candidates, ElementsAre(4, 6));
}

TEST(Examples, AnswersHaveNoBlanksOfAnyScriptAroundThem) {
  ExampleSet set;
  const std::string context = "a\u3000\u200Bé\u00A0\u200D";  // bytes: 1, 3, 3, 2, 2, 3
  add_record(set, sequence_options(HeadKind::question), QuestionRecord{"q", context, {{7, 9}}, place(1)});
  const Sequence& sequence = set.examples[0].windows[0];
  const auto bytes = [&](int64_t begin, int64_t end) {
    return answer_bytes(sequence, context, {sequence.context.begin + begin, sequence.context.begin + end});
  };
  EXPECT_EQ(bytes(1, 14), (AnswerSpan{7, 9}));
  EXPECT_EQ(bytes(2, 8), (AnswerSpan{7, 9})) << "from within a blank to within a letter";
  EXPECT_EQ(bytes(1, 7), AnswerSpan{}) << "nothing to be seen";
}

TEST(Examples, AnAnswerIsItsTokens) {
  ExampleSet set;
  add_record(set, sequence_options(HeadKind::question), QuestionRecord{"q?", "see 42 now", {{4, 6}}, place(1)});
  const Sequence& example = set.examples[0].windows[0];
  EXPECT_THAT(example.tokens, ElementsAre(kFirst, 'q', '?', kSeparator, kSeparator, 's', 'e', 'e', ' ', '4', '2', ' ',
                                          'n', 'o', 'w', kSeparator));
  EXPECT_EQ(example.context, (TokenSpan{5, 15}));
  ASSERT_EQ(example.answers.size(), 1u);
  EXPECT_EQ(example.answers[0], (HeldAnswer{0, {9, 11}}));
  EXPECT_EQ(answer_bytes(example, set.questions[0].context, {9, 11}), (AnswerSpan{4, 6}));
  EXPECT_EQ(answer_bytes(example, set.questions[0].context, {8, 12}), (AnswerSpan{4, 6}));  // without blanks
  EXPECT_EQ(answer_bytes(example, set.questions[0].context, {8, 9}), AnswerSpan{});
}

TEST(Examples, AnAnswerInsideTokensTakesThemWhole) {
  const Pairs tokenizer;
  auto options = sequence_options(HeadKind::question);
  options.tokenizer = &tokenizer;
  ExampleSet set;
  add_record(set, options, QuestionRecord{"qq", "abcdefg", {{1, 2}, {1, 4}, {3, 5}, {6, 7}}, place(1)});
  const Sequence& example = set.examples[0].windows[0];
  const int64_t at = example.context.begin;  // ab cd ef g
  EXPECT_THAT(example.answers, ElementsAre(HeldAnswer{0, {at, at + 1}}, HeldAnswer{1, {at, at + 2}},
                                           HeldAnswer{2, {at + 1, at + 3}}, HeldAnswer{3, {at + 3, at + 4}}));
  EXPECT_EQ(answer_bytes(example, "abcdefg", {at + 2, at + 4}), (AnswerSpan{4, 7}));
}

TEST(Examples, LosesAnswersBehindTheCut) {
  ExampleSet set;
  const auto options = sequence_options(HeadKind::question, 12);
  add_record(set, options, QuestionRecord{"12", "abcdefgh", {{4, 6}}, place(1)});
  add_record(set, options, QuestionRecord{"12", "abcdefgh", {{5, 7}}, place(2)});       // half of it
  add_record(set, options, QuestionRecord{"1234567", "abcdefgh", {{0, 1}}, place(3)});  // the question is cut too
  EXPECT_EQ(set.examples[0].windows[0].context, (TokenSpan{5, 11}));
  EXPECT_EQ(set.examples[0].windows[0].answers.size(), 1u);
  EXPECT_TRUE(set.examples[1].windows[0].answers.empty());
  EXPECT_EQ(set.examples[2].windows[0].context, (TokenSpan{6, 11}));
  EXPECT_EQ(set.truncated, 3);
  EXPECT_EQ(set.lost_answers, 1);
  EXPECT_EQ(drop_lost_answers(set), 1);
  ASSERT_EQ(set.size(), 2);
  EXPECT_EQ(set.places[1].line, 3);
  EXPECT_EQ(set.questions[1].question, "1234567");
}

TEST(Examples, NumbersLabels) {
  ExampleSet set;
  const auto options = sequence_options(HeadKind::multi_label);
  add_record(set, options, TextRecord{"t", {"10", "2"}, place(1)});
  add_record(set, options, TextRecord{"t", {}, place(2)});
  add_record(set, options, TextRecord{"t", {"b"}, place(3)});
  EXPECT_THAT(labels_of(set), ElementsAre("2", "10", "b"));
  number_labels(set, {"b", "2", "10"});  // in whatever order the model has them
  EXPECT_THAT(set.examples[0].labels, ElementsAre(1, 2));
  EXPECT_THAT(set.examples[1].labels, ElementsAre());
  EXPECT_THAT(set.examples[2].labels, ElementsAre(0));
  const std::string error = error_of([&] { number_labels(set, {"2", "10"}); });
  EXPECT_TRUE(error.starts_with("data.jsonl:3: unknown label 'b'")) << error;
}

TEST(Examples, MakeTheirHead) {
  const ExampleSet letters = find_the_letter(20, 1);
  EXPECT_THAT(head_for(letters, {}).labels, ElementsAre("x", "y"));
  EXPECT_EQ(head_for(letters, {}).kind, HeadKind::classification);
  EXPECT_FALSE(head_for(find_the_digits(20, 1), {}).may_be_empty);
  EXPECT_TRUE(head_for(find_the_digits(20, 1, true), {}).may_be_empty);
  ExampleSet one;
  add_record(one, sequence_options(HeadKind::classification), TextRecord{"t", {"a"}, place(1)});
  EXPECT_EQ(error_of([&] { head_for(one, {}); }), "head: classification needs from 2 to 1048576 labels, got 1");
}

TEST(Examples, NameTheRecordThatCannotBeRead) {
  ExampleSet set;
  EXPECT_EQ(error_of([&] {
              add_record(set, sequence_options(HeadKind::classification, 4), TextRecord{"t", {}, place(1)});
            }),
            "task: length must be at least 8, got 4");
  EXPECT_EQ(error_of([&] {
              add_record(set, sequence_options(HeadKind::classification), TextRecord{"", {}, place(9)});
            }),
            "data.jsonl:9: the text has no token");
}

class ExampleFiles : public ScratchFolder {};

TEST_F(ExampleFiles, ReadsEveryKind) {
  NullProgress quiet;
  RecordOptions records;
  records.inputs = {put("a.jsonl", "{\"text\": \"one\", \"label\": \"x\"}\n{\"text\": \"two\", \"label\": \"y\"}\n")};
  EXPECT_EQ(read_examples(records, sequence_options(HeadKind::classification), quiet).size(), 2);
  records.inputs = {put("b.csv", "text,labels\none,x;y\ntwo,\n")};
  const ExampleSet several = read_examples(records, sequence_options(HeadKind::multi_label), quiet);
  EXPECT_THAT(several.label_names, ElementsAre(ElementsAre("x", "y"), ElementsAre()));
  records.inputs = {put("c.jsonl", R"({"question": "q", "context": "c", "answers": ["c"]})")};
  EXPECT_EQ(read_examples(records, sequence_options(HeadKind::question), quiet).examples[0].windows[0].answers.size(),
            1u);
  records.inputs = {put("e.jsonl", R"({"question": "q", "supports": ["c"], "candidates": ["a", "b"], "answer": "b"})")};
  EXPECT_THAT(read_examples(records, sequence_options(HeadKind::choice), quiet).examples[0].labels, ElementsAre(1));
  records.inputs = {put("d.txt", std::string(100, 'a'))};
  EXPECT_EQ(read_examples(records, sequence_options(HeadKind::masked_language), quiet).size(), 2);
}

}  // namespace
}  // namespace longspan::tasks
