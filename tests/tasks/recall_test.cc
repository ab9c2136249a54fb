// Training on recall and what is counted as right.
#include "longspan/tasks/recall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "longspan/base/rng.h"
#include "longspan/data/recall_tokenizer.h"
#include "longspan/tasks/recall_rows.h"
#include "longspan/train/evaluation_mode.h"
#include "tests/io/scratch_folder.h"

namespace longspan::tasks {
namespace {

RecallOptions small_task() {
  RecallOptions options;
  options.keys = 16;
  options.values = 16;
  options.fillers = 4;
  options.pairs = 4;
  options.stages = 2;
  return resolved(options);
}

models::ModelConfig small_model(const RecallOptions& recall, const std::string& attention,
                                const FieldValues& options = {}) {
  models::ModelConfig config = recall_model(recall);
  config.attention = attention;
  config.attention_options = options;
  config.width = 64;
  config.heads = 2;
  config.feed_forward = 64;
  return config;
}

train::TrainOptions small_training() {
  train::TrainOptions options = recall_training();
  options.steps = 8;
  options.batch = 2;
  options.length = 32;
  options.warmup = 2;
  return options;
}

class RecallRun : public ScratchFolder {};

TEST(Recall, TheLossIsThatOfTheQuestionsAlone) {
  const RecallOptions recall = small_task();
  const auto model = train::make_model(small_model(recall, "softmax"), 0);
  train::TrainOptions options = small_training();
  RecallRows rows(recall, options, model->config());
  for (const int64_t step : {int64_t{0}, options.steps - 1}) {
    rows.begin_step();
    const at::Tensor nll = rows.nll(*model, step, {0, options.batch}, 0);
    EXPECT_EQ(nll.size(0), rows.targets(step));
    const at::Tensor tokens = rows.read().front();
    const int64_t length = stage_length(recall, options.length, step, options.steps);
    EXPECT_EQ(tokens.size(1), length + 1);
    EXPECT_EQ(tokens.size(0) * length, options.batch * options.length) << "as many tokens in every stage";
    // The losses of all targets, of which only those behind a repeated key count.
    const at::Tensor all = model->nll(tokens);
    std::vector<double> expected;
    for (int64_t row = 0; row < tokens.size(0); ++row) {
      std::vector<int64_t> seen;
      for (int64_t i = 0; i < length; ++i) {
        const auto token = tokens[row][i].item<int64_t>();
        if (token >= recall.keys) continue;
        if (std::find(seen.begin(), seen.end(), token) != seen.end()) expected.push_back(all[row][i].item<double>());
        seen.push_back(token);
      }
    }
    ASSERT_EQ(static_cast<int64_t>(expected.size()), nll.size(0));
    // The rows of logits are those of another product: float32 rounding of sums over the width and the vocabulary.
    const double bound = 64 * 100 * 1.2e-7;
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(nll[static_cast<int64_t>(i)].item<double>(), expected[i], bound);
  }
}

TEST(Recall, PartsOfAStepReadTheSameRows) {
  const RecallOptions recall = small_task();
  const auto model = train::make_model(small_model(recall, "local"), 0);
  const train::TrainOptions options = small_training();
  RecallRows rows(recall, options, model->config());
  rows.nll(*model, 3, {0, 2}, 0);
  const at::Tensor whole = rows.read().front();
  rows.begin_step();
  rows.nll(*model, 3, {0, 1}, 0);
  rows.nll(*model, 3, {1, 1}, 0);
  EXPECT_TRUE(torch::equal(torch::cat(rows.read()), whole));
}

TEST(Recall, AccuracyCountsWhatTheModelSays) {
  const RecallOptions recall = small_task();
  const auto model = train::make_model(small_model(recall, "local"), 3);
  RecallEvaluation options;
  options.questions = 100;
  options.span = 16;
  int64_t told = 0;
  const RecallResult result =
      evaluate_recall(*model, recall, 3, 48, options, [&](int64_t done, int64_t) { told = done; });
  EXPECT_EQ(result.rows, 34);
  EXPECT_EQ(result.questions, 3 * 34);
  EXPECT_EQ(told, 34);
  // Row by row, by the logits of the whole row.
  train::EvaluationMode evaluation(*model);
  torch::NoGradGuard no_grad;
  int64_t right = 0;
  double loss = 0;
  std::vector<double> off;
  for (int64_t i = 0; i < result.rows; ++i) {
    const RecallRow row = recall_row(recall, measured_shape(recall, 3, 48, 16), RecallSplit::test, 0,
                                     stream_of({3, 48}), static_cast<uint64_t>(i));
    const at::Tensor tokens = torch::tensor(row.tokens, torch::kLong).unsqueeze(0);
    const at::Tensor logits = model->logits(model->hidden(tokens.narrow(1, 0, 48)))[0];
    double of_row = 0;
    for (const int64_t place : row.questions) {
      const int64_t target = row.tokens[static_cast<std::size_t>(place + 1)];
      of_row += logits[place].argmax().item<int64_t>() == target;
      loss -= torch::log_softmax(logits[place], 0)[target].item<double>();
    }
    right += static_cast<int64_t>(of_row);
    off.push_back(of_row);
  }
  EXPECT_DOUBLE_EQ(result.accuracy, static_cast<double>(right) / static_cast<double>(result.questions));
  EXPECT_NEAR(result.loss, loss / static_cast<double>(result.questions), 64 * 100 * 1.2e-7);
  double squares = 0;
  for (const double of_row : off) squares += std::pow(of_row / 3 - result.accuracy, 2);
  EXPECT_NEAR(result.standard_error, std::sqrt(squares / 33 / 34), 1e-12);
  EXPECT_EQ(result.whole, result.accuracy);
}

TEST_F(RecallRun, ResumedRunsHaveTheSameBits) {
  const RecallOptions recall = small_task();
  const auto tokenizer = recall_tokenizer(recall);
  const train::TrainOptions options = small_training();
  const auto config = small_model(recall, "local");
  const auto whole = train::make_model(config, 0);
  train::TrainObserver nobody;
  recall_trainer(whole, recall, options)->run(nobody);
  struct StopAt5 : train::TrainObserver {
    void on_step(const train::StepResult& step) override { at = step.step; }
    bool should_stop() override { return at == 5; }
    int64_t at = 0;
  } stop;
  EXPECT_FALSE(recall_trainer(train::make_model(config, 0), recall, options)->run(stop, path("run"), tokenizer.get()));
  const auto second = train::make_model(config, 1);
  const auto trainer = recall_trainer(second, recall, options);
  EXPECT_TRUE(trainer->resume(path("run")).empty());
  EXPECT_EQ(trainer->steps_done(), 5);
  trainer->run(nobody);
  for (const auto& [name, weight] : whole->weights())
    EXPECT_TRUE(torch::equal(weight, second->weights().at(name))) << name;
  RecallOptions other = recall;
  other.pairs = 3;
  const auto warnings = recall_trainer(train::make_model(config, 0), other, options)->resume(path("run"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("other training data"), std::string::npos) << warnings.front();
}

TEST(Recall, WhatDoesNotFitIsRefused) {
  const RecallOptions recall = small_task();
  const auto model = train::make_model(small_model(recall, "local"), 0);
  train::TrainOptions options = small_training();
  options.length = 33;
  EXPECT_THROW(recall_trainer(model, recall, options), InputError);
  options.length = 4;  // the first stage has rows of 2
  EXPECT_THROW(recall_trainer(model, recall, options), InputError);
  options = small_training();
  options.sequences = train::Sequences::carried;
  EXPECT_THROW(recall_trainer(model, recall, options), InputError);
  options = small_training();
  options.valid_every = 2;
  EXPECT_THROW(recall_trainer(model, recall, options), InputError);
  RecallOptions other = recall;
  other.keys = 17;
  EXPECT_THROW(recall_trainer(model, other, small_training()), InputError);
  EXPECT_THROW(evaluate_recall(*model, other, 2, 64, {}), InputError);
  EXPECT_THROW(evaluate_recall(*model, recall, 17, 64, {}), InputError);
}

/// A memory with chosen writes learns to look a pair up; a window that does not reach the pairs cannot. Some seconds.
TEST(Recall, ASelectiveMemoryLearnsItAndAWindowDoesNot) {
  const RecallOptions recall = small_task();
  train::TrainOptions options = small_training();
  options.steps = 300;
  options.batch = 16;
  options.length = 64;
  options.warmup = 30;
  RecallEvaluation measure;
  measure.span = 12;
  train::TrainObserver nobody;
  const auto accuracy = [&](const std::string& attention, const FieldValues& own) {
    const auto model = train::make_model(small_model(recall, attention, own), 0);
    recall_trainer(model, recall, options)->run(nobody);
    return evaluate_recall(*model, recall, 4, 64, measure).accuracy;
  };
  EXPECT_GT(accuracy("lavo_selective", {{"r", int64_t{32}}, {"w", int64_t{4}}}), 0.9);
  // Two layers of 4 reach 6 tokens back; pairs end 44 before the questions. One who has seen nothing of them is right
  // once in 16 times, within five standard deviations of 512 answers.
  EXPECT_LT(accuracy("local", {{"w", int64_t{4}}, {"positions", std::string("table")}}), 1.0 / 16 + 5 * 0.0107);
}

}  // namespace
}  // namespace longspan::tasks
