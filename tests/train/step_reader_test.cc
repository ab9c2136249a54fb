// What the rows of a step hold, and what a model is given of them.
#include "longspan/train/step_reader.h"

#include <gtest/gtest.h>

#include <map>

#include "longspan/train/carried_rows.h"
#include "longspan/train/document_packs.h"
#include "longspan/train/spans.h"
#include "tests/models/small_models.h"
#include "tests/train/document_files.h"

namespace longspan::train {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

Pairs pairs(const std::vector<Span>& spans) {
  Pairs out;
  for (const Span& span : spans) out.emplace_back(span.begin, span.size);
  return out;
}

class StepReaders : public DocumentFiles {
 protected:
  TrainOptions options(Sequences sequences, int64_t batch, int64_t length) const {
    TrainOptions out;
    out.sequences = sequences;
    out.batch = batch;
    out.length = length;
    return out;
  }

  /// nll of targets [span.begin + 1, ...) of one stretch of tokens from an empty state.
  static at::Tensor alone(models::LanguageModel& model, const TokenFile& tokens, const Span& span) {
    return model.nll(read_rows(tokens, {span.begin}, span.size)).flatten();
  }

  static double bound(const models::LanguageModel& model, int64_t length) {
    return 4 * models::hidden_bound(model.config(), length, 10) * static_cast<double>(model.config().width);
  }
};

TEST_F(StepReaders, SpansEndBeforeTheLastTokenOfADocument) {
  // 0-3, 4, 5-9, 10-19
  const DocumentIndex index = documents("documents", {0, 4, 5, 10}, 20);
  EXPECT_EQ(pairs(within_documents(index, 0, 19)), (Pairs{{0, 3}, {5, 4}, {10, 9}}));
  EXPECT_EQ(pairs(within_documents(index, 2, 5)), (Pairs{{2, 1}, {5, 2}}));
  EXPECT_EQ(pairs(within_documents(index, 3, 2)), Pairs{});
  EXPECT_EQ(pairs(within_documents(index, 9, 3)), (Pairs{{10, 2}}));
  EXPECT_EQ(pairs(within_documents(index, 5, 4)), (Pairs{{5, 4}}));
  EXPECT_EQ(pairs(within_documents(index, 7, 0)), Pairs{});
}

TEST_F(StepReaders, PacksAreFullAndEveryTargetIsAsLikely) {
  const TokenFile file = tokens("train", 40);
  // Of 2, 1, 30 and 7 tokens; the third is cut into pieces of at most 8.
  const DocumentIndex index = documents("documents", {0, 2, 3, 33}, 40);
  const DocumentPacks packs(file, index, options(Sequences::documents, 1, 8));
  std::map<int64_t, int64_t> read;
  const int64_t steps = 3000;
  for (int64_t step = 0; step < steps; ++step) {
    const auto row = packs.row(step, 0);
    EXPECT_EQ(total_size(row), 8);
    for (const Span& span : row) {
      EXPECT_EQ(pairs(within_documents(index, span.begin, span.size)), (Pairs{{span.begin, span.size}}))
          << "a piece lies in one document";
      const int64_t document = index.find(span.begin);
      EXPECT_EQ((span.begin - index.begin(document)) % 8, 0);
      for (int64_t i = 0; i < span.size; ++i) ++read[span.begin + i];
    }
  }
  // 36 targets. A piece that is full is not cut; the short ones at the end of a pack are, so only whole pieces of one
  // size can be compared: the first three of the third document.
  EXPECT_EQ(read.size(), 36u);
  EXPECT_EQ(read.count(1) + read.count(2) + read.count(32) + read.count(39), 0u) << "the last tokens of documents";
  const double share = static_cast<double>(read[3] + read[11] + read[19]) / 3;
  for (const int64_t begin : {3, 11, 19}) EXPECT_NEAR(static_cast<double>(read[begin]), share, 6 * std::sqrt(share));
  // Some packs of so few documents are alike by chance.
  const auto rows = [&](int64_t step) {
    std::vector<Pairs> out;
    for (int64_t row = 0; row < 20; ++row) out.push_back(pairs(packs.row(step, row)));
    return out;
  };
  EXPECT_EQ(rows(5), rows(5));
  EXPECT_NE(rows(5), rows(6));
}

TEST_F(StepReaders, DocumentsOfAPackDoNotSeeEachOther) {
  const TokenFile file = tokens("train", 60);
  const DocumentIndex index = documents("documents", {0, 5, 6, 20, 41}, 60);
  for (const char* attention : {"lavo", "softmax"}) {
    SCOPED_TRACE(attention);
    const auto model = models::small_model(models::small_config(attention));
    DocumentPacks packs(file, index, options(Sequences::documents, 3, 10));
    const at::Tensor nll = packs.nll(*model, 2, {1, 2}, 0);
    std::vector<at::Tensor> expected;
    for (const int64_t row : {1, 2})
      for (const Span& span : packs.row(2, row)) expected.push_back(alone(*model, file, span));
    EXPECT_CLOSE(nll, at::cat(expected), bound(*model, 20));
  }
}

TEST_F(StepReaders, CarriedRowsReadTheirPartsFromEndToEndAndBeginAnew) {
  const TokenFile file = tokens("train", 62);
  const auto model = models::small_model(models::small_config("lavo"));
  // 61 targets in 2 parts of 30: 4 segments of 7.
  const CarriedRows rows(file, nullptr, options(Sequences::carried, 2, 7), *model, {0, 2});
  EXPECT_EQ(rows.targets(3), 14);
  EXPECT_EQ(rows.begin(0, 0), 0);
  EXPECT_EQ(rows.begin(3, 0), 21);
  EXPECT_EQ(rows.begin(4, 0), 0);
  EXPECT_EQ(rows.begin(5, 1), 37);
}

TEST_F(StepReaders, ACarriedStateIsThatOfThePartReadInOnePiece) {
  const TokenFile file = tokens("train", 62);
  for (const char* attention : {"lavo", "lavo_selective", "diffuser", "gated_delta_net", "local", "softmax"}) {
    SCOPED_TRACE(attention);
    const auto model = models::small_model(models::small_config(attention));
    CarriedRows rows(file, nullptr, options(Sequences::carried, 2, 7), *model, {0, 2});
    std::vector<at::Tensor> first, second;
    for (int64_t step = 0; step < 4; ++step) {
      // Once more, as after an error: nothing has moved on.
      rows.nll(*model, step, {0, 2}, 0);
      first.push_back(rows.nll(*model, step, {0, 1}, 0));
      second.push_back(rows.nll(*model, step, {1, 1}, 0));
      rows.commit();
    }
    EXPECT_CLOSE(at::cat(first), alone(*model, file, {0, 28}), bound(*model, 28));
    EXPECT_CLOSE(at::cat(second), alone(*model, file, {30, 28}), bound(*model, 28));
    EXPECT_CLOSE(rows.nll(*model, 4, {1, 1}, 0), alone(*model, file, {30, 7}), bound(*model, 28));
  }
}

// Borders at every place of a segment: its first and last token, twice in it, none, and documents of one token.
TEST_F(StepReaders, ACarriedStateEndsWithItsDocument) {
  const TokenFile file = tokens("train", 93);
  const DocumentIndex index = documents("documents", {0, 3, 4, 5, 14, 20, 21, 28, 29, 50, 63, 90}, 93);
  for (const char* attention : {"lavo", "softmax"}) {
    SCOPED_TRACE(attention);
    const auto model = models::small_model(models::small_config(attention));
    CarriedRows rows(file, &index, options(Sequences::carried, 2, 7), *model, {0, 2});
    std::vector<at::Tensor> parts[2];
    int64_t targets = 0;
    for (int64_t step = 0; step < 6; ++step) {
      const at::Tensor both = rows.nll(*model, step, {0, 2}, 0);
      const int64_t count = total_size(within_documents(index, rows.begin(step, 0), 7));
      parts[0].push_back(both.narrow(0, 0, count));
      parts[1].push_back(both.narrow(0, count, both.numel() - count));
      EXPECT_EQ(both.numel(), rows.targets(step));
      targets += both.numel();
      rows.commit();
    }
    for (const int64_t row : {0, 1}) {
      // The second part begins within a document, which it sees from there on.
      std::vector<at::Tensor> expected;
      for (const Span& span : within_documents(index, row * 46, 42)) expected.push_back(alone(*model, file, span));
      EXPECT_CLOSE(at::cat(parts[row]), at::cat(expected), bound(*model, 42));
    }
  }
}

TEST_F(StepReaders, WhatDoesNotFitIsRefused) {
  const TokenFile file = tokens("train", 20);
  const DocumentIndex single = documents("single", {0, 1, 2}, 3);
  const auto model = models::small_model(models::small_config("lavo"));
  const auto refusal = [&](const TrainOptions& options) {
    return error_of([&] { make_step_reader({.train = &file}, options, *model, {0, options.batch}); });
  };
  EXPECT_EQ(refusal(options(Sequences::documents, 1, 4)),
            path("train") + ": the borders of its documents are needed for training on documents");
  TrainOptions reset = options(Sequences::windows, 1, 4);
  reset.reset_at_documents = true;
  EXPECT_EQ(error_of([&] { validate(reset); }), "train: reset_at_documents has a use with sequences = carried alone");
  EXPECT_EQ(refusal(options(Sequences::carried, 4, 5)),
            path("train") + ": the 4 parts that carried rows read have 4 tokens each, fewer than length = 5");
  const TokenFile three = tokens("three", 3);
  EXPECT_EQ(error_of([&] { DocumentPacks(three, single, options(Sequences::documents, 1, 4)); }),
            path("three") + ": its 3 documents have one token each, so there is nothing to predict");
  models::ModelConfig learned = models::small_config("lavo");
  learned.positions = models::Positions::learned;
  learned.max_positions = 10;
  EXPECT_EQ(error_of([&] {
              CarriedRows(file, nullptr, options(Sequences::carried, 1, 4), models::LanguageModel(learned), {0, 1});
            }),
            "train: carried rows go up to position 15, but learned positions end at max_positions = 10");
}

}  // namespace
}  // namespace longspan::train
