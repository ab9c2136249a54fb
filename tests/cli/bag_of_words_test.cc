// What the document demo compares attentions with: word counts and looking for words.
#include "tools/longspan/demo_documents/bag_of_words.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "longspan/base/rng.h"
#include "tools/longspan/demo_documents/word_match.h"

namespace longspan::tool {
namespace {

TextRecord record(std::string text, std::string label) {
  return {std::move(text), {std::move(label)}, {std::make_shared<const std::string>("test"), 1}};
}

TEST(BagOfWords, WordsAreLettersAndDigitsOfOneKind) {
  EXPECT_EQ(words_of("It's 2 B\xC3\xA4ren, O_RDONLY"),
            (std::vector<std::string>{"it", "s", "2", "b", "\xC3\xA4", "ren", "o", "rdonly"}));
  EXPECT_TRUE(words_of(" ,;").empty());
}

/// 30 common words each, and one in ten documents with a word that tells the class.
std::vector<TextRecord> documents(int count, uint64_t seed) {
  std::vector<TextRecord> out;
  Rng rng(seed);
  for (int i = 0; i < count; ++i) {
    const uint64_t label = rng.below(3);
    std::string text;
    for (int word = 0; word < 30; ++word) text += "common" + std::to_string(rng.below(50)) + " ";
    text += "telling" + std::to_string(10 * label + rng.below(4));
    out.push_back(record(text, std::string(1, static_cast<char>('a' + label))));
  }
  return out;
}

TEST(BagOfWords, LearnsWhatWordsTell) {
  const auto train = documents(300, 1), valid = documents(50, 2), test = documents(200, 3);
  const BagOfWords bag(train, valid, LabelSet(train));
  EXPECT_EQ(bag.vocabulary(), 50 + 12);
  EXPECT_GT(bag.accuracy(test), 0.95);
  const BagOfWords again(train, valid, LabelSet(train));
  for (const TextRecord& one : test) EXPECT_EQ(bag.predict(one.text), again.predict(one.text));
}

TEST(BagOfWords, IsAtChanceWhereOnlyTheOrderTells) {
  std::vector<TextRecord> twins;
  Rng rng(4);
  for (int i = 0; i < 200; ++i) {
    const std::string a = "word" + std::to_string(rng.below(20)), b = "word" + std::to_string(rng.below(20));
    twins.push_back(record(a + " first " + b, "yes"));
    twins.push_back(record(b + " first " + a, "no"));
  }
  const std::span<const TextRecord> all(twins);
  const BagOfWords bag(all.subspan(0, 200), all.subspan(200, 100), LabelSet(all));
  // The two of a pair have the same words: the same class is predicted for both.
  EXPECT_EQ(bag.accuracy(all.subspan(300)), 0.5);
}

TEST(BagOfWords, UnknownWordsAloneLeaveTheCommonClass) {
  const std::vector<TextRecord> train = {record("x y", "a"), record("x y", "b"), record("x y", "b"),
                                         record("x z", "b")};
  const BagOfWords bag(train, train, LabelSet(train));
  EXPECT_EQ(bag.predict("unheard of"), 1);
}

TEST(WordMatch, FindsTheSentenceBehindTheWordsOfTheQuestion) {
  QuestionRecord question;
  question.question = "tool(1): -q, --quiet";
  question.context =
      "NAME\n\ntool - says --quiet things and much besides\n\n-q, --quiet\n    Say nothing. More.\n\nEND";
  EXPECT_EQ(word_match(question), "Say nothing.");
  const auto begin = static_cast<int64_t>(question.context.find("Say nothing"));
  question.answers = {{begin, begin + 12}};
  EXPECT_EQ(word_match_f1({&question, 1}), 1);
  question.answers = {{0, 4}};
  EXPECT_EQ(word_match_f1({&question, 1}), 0);
  question.question = "?";
  EXPECT_EQ(word_match(question), "");
}

}  // namespace
}  // namespace longspan::tool
