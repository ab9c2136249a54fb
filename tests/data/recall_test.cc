// Rows of recall and copy: what stands where, and what they are drawn from.
#include "longspan/data/recall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "longspan/base/check.h"
#include "longspan/data/recall_tokenizer.h"

namespace longspan {
namespace {

RecallOptions task(RecallTask kind = RecallTask::recall) {
  RecallOptions options;
  options.task = kind;
  return resolved(options);
}

bool is_key(const RecallOptions& o, int64_t token) { return token >= 0 && token < o.keys; }
bool is_value(const RecallOptions& o, int64_t token) { return token >= o.keys && token < o.keys + o.values; }
bool is_filler(const RecallOptions& o, int64_t token) {
  return token >= o.keys + o.values && token < recall_vocabulary(o);
}

/// Everything that recall.h says of a row.
void check_row(const RecallOptions& o, const RecallShape& shape, const RecallRow& row) {
  ASSERT_EQ(static_cast<int64_t>(row.tokens.size()), shape.length + 1);
  std::map<int64_t, std::vector<int64_t>> facts;
  std::size_t at = 0;
  for (int64_t pair = 0; pair < shape.pairs; ++pair) {
    const int64_t key = row.tokens[at++];
    ASSERT_TRUE(is_key(o, key));
    ASSERT_FALSE(facts.contains(key)) << "key twice";
    for (int64_t i = 0; i < o.fact; ++i) {
      ASSERT_TRUE(is_value(o, row.tokens[at]));
      facts[key].push_back(row.tokens[at++]);
    }
  }
  std::set<int64_t> asked;
  std::vector<int64_t> questions;
  const auto first = shape.span > 0 ? shape.length + 1 - shape.span : 0;
  while (at < row.tokens.size()) {
    const int64_t token = row.tokens[at];
    if (is_filler(o, token)) {
      ++at;
      continue;
    }
    ASSERT_TRUE(facts.contains(token)) << "a question for what was not shown, at " << at;
    ASSERT_TRUE(asked.insert(token).second) << "asked twice";
    ASSERT_GE(static_cast<int64_t>(at), first);
    for (const int64_t value : facts[token]) {
      questions.push_back(static_cast<int64_t>(at));
      ASSERT_EQ(row.tokens[++at], value);
    }
    ++at;
  }
  EXPECT_EQ(row.questions, questions);
  EXPECT_EQ(static_cast<int64_t>(questions.size()), recall_questions(o, shape));
}

TEST(Recall, RowsAreWhatTheySayTheyAre) {
  const RecallOptions o = task();
  EXPECT_EQ(recall_vocabulary(o), 128 + 128 + 64);
  for (const RecallShape shape : {RecallShape{64, 16, 0},
                                  {64, 1, 0},
                                  {63, 16, 0},
                                  {256, 64, 192},
                                  {4096, 64, 192},
                                  {256, 4, 192},
                                  {3, 1, 0},
                                  {1024, 32, 20}})
    for (uint64_t number = 0; number < 20; ++number)
      check_row(o, shape, recall_row(o, shape, RecallSplit::test, 7, 1, number));
}

TEST(Recall, AsManyAreAskedAsThereIsRoomFor) {
  const RecallOptions o = task();
  EXPECT_EQ(recall_questions(o, {4096, 64, 192}), 64);
  EXPECT_EQ(recall_questions(o, {1024, 32, 20}), 10);
  EXPECT_EQ(recall_questions(o, {63, 16, 0}), 16);
  EXPECT_EQ(recall_questions(o, {3, 1, 0}), 1);
}

TEST(Recall, CopyAsksForItsFactAtTheDistance) {
  const RecallOptions o = task(RecallTask::copy);
  EXPECT_EQ(o.fact, 8);
  EXPECT_EQ(o.values, 256);
  for (const int64_t distance : {0, 1, 100}) {
    const RecallShape shape = measured_shape(o, 5, distance, 192);
    const RecallRow row = recall_row(o, shape, RecallSplit::test, 0, 0, 0);
    check_row(o, shape, row);
    // key and fact, `distance` fillers, key, fact.
    ASSERT_EQ(static_cast<int64_t>(row.tokens.size()), 9 + distance + 9);
    EXPECT_EQ(row.questions.front(), 9 + distance);
    EXPECT_EQ(row.questions.back(), shape.length - 1);
  }
}

TEST(Recall, ARowDependsOnItsNumbersAlone) {
  const RecallOptions o = task();
  const RecallShape shape{128, 8, 0};
  const auto row = [&](RecallSplit split, uint64_t seed, uint64_t stream, uint64_t number) {
    return recall_row(o, shape, split, seed, stream, number).tokens;
  };
  const auto first = row(RecallSplit::train, 1, 2, 3);
  row(RecallSplit::train, 9, 9, 9);
  EXPECT_EQ(row(RecallSplit::train, 1, 2, 3), first);
  std::set<std::vector<int64_t>> all;
  int64_t made = 0;
  for (const RecallSplit split : {RecallSplit::train, RecallSplit::valid, RecallSplit::test})
    for (uint64_t seed = 0; seed < 5; ++seed)
      for (uint64_t stream = 0; stream < 10; ++stream)
        for (uint64_t number = 0; number < 10; ++number, ++made) all.insert(row(split, seed, stream, number));
  EXPECT_EQ(static_cast<int64_t>(all.size()), made) << "no row stands in two splits, seeds, steps or places";
  // The bits of one row, so that results stay comparable from version to version.
  EXPECT_EQ(row(RecallSplit::test, 0, 0, 0)[0], 114);
}

TEST(Recall, QuestionsAreSpreadEvenly) {
  const RecallOptions o = task();
  const RecallShape shape{255, 4, 0};  // 8 tokens of pairs, 248 behind them
  std::vector<int64_t> quarters(4);
  std::vector<int64_t> by_pair(4);
  for (uint64_t number = 0; number < 2000; ++number) {
    const RecallRow row = recall_row(o, shape, RecallSplit::train, 0, 0, number);
    for (const int64_t place : row.questions) ++quarters[static_cast<std::size_t>((place - 8) * 4 / 248)];
    const int64_t key = row.tokens[static_cast<std::size_t>(row.questions.front())];
    for (std::size_t pair = 0; pair < 4; ++pair) by_pair[pair] += row.tokens[2 * pair] == key;
  }
  // 8,000 places and 2,000 first questions: five standard deviations of a binomial share of a quarter.
  for (const int64_t count : quarters) EXPECT_NEAR(count, 2000, 5 * 38.8);
  for (const int64_t count : by_pair) EXPECT_NEAR(count, 500, 5 * 19.4);
}

TEST(Recall, TrainingAsksForEveryPair) {
  const RecallOptions o = task();
  int64_t most = 0;
  for (const int64_t length : {64, 128, 256})
    for (uint64_t number = 0; number < 300; ++number) {
      const RecallShape shape = training_shape(o, length, RecallSplit::train, 3, 0, number);
      EXPECT_GE(shape.pairs, 1);
      EXPECT_LE(shape.pairs, std::min<int64_t>(32, (length + 1) / 4));
      EXPECT_EQ(recall_questions(o, shape), shape.pairs);
      most = std::max(most, shape.pairs);
    }
  EXPECT_EQ(most, 32);
}

TEST(Recall, StagesDoubleTheLength) {
  const RecallOptions o = task();
  EXPECT_EQ(stage_length(o, 256, 0, 400), 64);
  EXPECT_EQ(stage_length(o, 256, 133, 400), 64);
  EXPECT_EQ(stage_length(o, 256, 134, 400), 128);
  EXPECT_EQ(stage_length(o, 256, 267, 400), 256);
  EXPECT_EQ(stage_length(o, 256, 399, 400), 256);
  EXPECT_THROW(stage_length(o, 254, 0, 400), InputError);
}

TEST(Recall, WhatHasNoRoomIsRefused) {
  const RecallOptions o = task();
  const auto refused = [&](const RecallShape& shape) {
    EXPECT_THROW(recall_row(o, shape, RecallSplit::test, 0, 0, 0), InputError) << shape.length << " " << shape.pairs;
  };
  refused({2, 1, 0});
  refused({32, 16, 0});
  refused({4096, 129, 0});
  refused({4096, 0, 0});
  refused({4096, 4, 1});
  EXPECT_THROW(training_shape(o, 2, RecallSplit::train, 0, 0, 0), InputError);
  RecallOptions many;
  many.keys = 8;
  EXPECT_THROW(resolved(many), InputError);
  many.pairs = 0;
  EXPECT_THROW(resolved(many), InputError);
}

TEST(Recall, TokensAreWords) {
  const RecallOptions o = task();
  const auto tokenizer = recall_tokenizer(o);
  EXPECT_EQ(tokenizer->vocabulary_size(), recall_vocabulary(o));
  const RecallRow row = recall_row(o, {64, 4, 0}, RecallSplit::test, 0, 0, 0);
  std::string text;
  std::vector<uint32_t> tokens;
  for (const int64_t token : row.tokens) {
    text += (text.empty() ? "" : " ") + recall_word(o, token);
    tokens.push_back(static_cast<uint32_t>(token));
  }
  EXPECT_EQ(tokenizer->encode(text), tokens);
  EXPECT_EQ(tokenizer->decode(tokens), text);
  EXPECT_EQ(tokenizer->encode("k127 v127 f63 v128 k12x"), (std::vector<uint32_t>{127, 255, 319, 256, 256}));
}

}  // namespace
}  // namespace longspan
