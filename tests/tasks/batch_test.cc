#include "longspan/tasks/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "longspan/nn/packing.h"
#include "longspan/tasks/losses.h"
#include "longspan/tasks/predictions.h"
#include "tests/models/small_models.h"
#include "tests/tasks/small_tasks.h"

namespace longspan::tasks {
namespace {

using models::HeadKind;

std::shared_ptr<models::EncoderModel> model_for(const ExampleSet& set) {
  auto model = make_model(byte_encoder(), head_for(set, {}), 3);
  model->to(torch::kDouble);
  model->eval();
  return model;
}

Batch batch_of(const ExampleSet& set, models::EncoderModel& model, const std::vector<int64_t>& examples) {
  return make_batch(set, examples, model.head_config(), model.encoder_config(), {}, {1, 2, 0});
}

at::Tensor losses_of(models::EncoderModel& model, const Batch& batch) {
  return losses(model, batch, model.hidden(batch.pack), 0, 0, 0);
}

/// Rounding of a loss: the sums along the longest path of the model and its head.
double bound(const at::Tensor& values) {
  return testing::sum_bound<double>(2000) * (1 + values.abs().max().item<double>());
}

class Losses : public ::testing::TestWithParam<HeadKind> {
 protected:
  static ExampleSet examples() {
    switch (GetParam()) {
      case HeadKind::masked_language:
        return repetitions(4, 1);
      case HeadKind::classification:
        return find_the_letter(12, 1);
      case HeadKind::multi_label:
        return find_all_letters(4, 1);
      case HeadKind::choice:
        return choose_the_digit(4, 1);
      case HeadKind::question:
        break;
    }
    return find_the_digits(4, 1, true);
  }
};

TEST_P(Losses, DoNotDependOnWhatTheyAreReadWith) {
  const ExampleSet set = examples();
  const auto model = model_for(set);
  torch::NoGradGuard no_grad;
  const at::Tensor together = losses_of(*model, batch_of(set, *model, {0, 1, 2, 3}));
  std::vector<at::Tensor> alone;
  for (int64_t i = 0; i < 4; ++i) {
    const std::vector<int64_t> one = {i};
    const Batch batch =
        make_batch(set, one, model->head_config(), model->encoder_config(), {}, {1, 2, static_cast<uint64_t>(i)});
    alone.push_back(losses_of(*model, batch));
    EXPECT_EQ(alone.back().size(0), batch.targets_in_loss);
  }
  EXPECT_CLOSE(together, torch::cat(alone), bound(together));
}

TEST_P(Losses, HaveGradientsOfEveryWeight) {
  const ExampleSet set = examples();
  const auto model = model_for(set);
  losses_of(*model, batch_of(set, *model, {0, 1, 2, 3})).sum().backward();
  for (const auto& item : model->named_parameters()) EXPECT_TRUE(item.value().grad().defined()) << item.key();
}

INSTANTIATE_TEST_SUITE_P(All, Losses,
                         ::testing::Values(HeadKind::masked_language, HeadKind::classification, HeadKind::multi_label,
                                           HeadKind::question, HeadKind::choice),
                         [](const auto& info) { return to_string(info.param); });

TEST(Batches, MultiLabelLossIsTheCrossEntropyOfEachLabel) {
  const ExampleSet set = find_all_letters(3, 1);
  const auto model = model_for(set);
  torch::NoGradGuard no_grad;
  const Batch batch = batch_of(set, *model, {0, 1, 2});
  const at::Tensor scores = model->label_logits(model->hidden(batch.pack), batch.pack.cu_seqlens);
  const at::Tensor y = batch.targets.to(torch::kDouble);
  const at::Tensor expected = -(y * scores.sigmoid().log() + (1 - y) * (1 - scores.sigmoid()).log());
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(y[i].sum().item<double>(), static_cast<double>(set.examples[static_cast<std::size_t>(i)].labels.size()));
  EXPECT_CLOSE(losses_of(*model, batch), expected.flatten(), bound(expected));
}

TEST(Batches, AnswersAreLookedForInTheContext) {
  ExampleSet set = find_the_digits(3, 1);
  const auto model = model_for(set);
  torch::NoGradGuard no_grad;
  const Batch batch = batch_of(set, *model, {2});
  const at::Tensor scores = model->span_logits(model->hidden(batch.pack));
  const Sequence& example = set.examples[2].windows[0];
  const at::Tensor log_p =
      scores.narrow(0, example.context.begin, example.context.end - example.context.begin).log_softmax(0);
  const int64_t first = example.answers[0].tokens.begin - example.context.begin,
                last = example.answers[0].tokens.end - 1 - example.context.begin;
  EXPECT_CLOSE(losses_of(*model, batch), (-(log_p[first][0] + log_p[last][1]) / 2).view({1}), bound(log_p));

  const Prediction prediction = predictions(model->head_config(), set, batch, scores).front();
  EXPECT_GT(prediction.answer.probability(), 0);
  EXPECT_LE(prediction.answer.probability(), 1);
  const auto at = static_cast<std::size_t>(prediction.answer.bytes.begin);
  EXPECT_EQ(set.questions[2].context.substr(at, prediction.answer.text.size()), prediction.answer.text);
}

TEST(Batches, GlobalTokensAreTheFirstAndTheQuestions) {
  const ExampleSet set = find_the_digits(2, 1);
  models::HeadConfig head = head_for(set, {});
  const std::vector<int64_t> both = {0, 1};
  EXPECT_FALSE(make_batch(set, both, head, byte_encoder(), {}, {}).pack.global_tokens);
  head.global_tokens = models::GlobalTokens::task;
  const at::Tensor global = *make_batch(set, both, head, byte_encoder(), {}, {}).pack.global_tokens;
  const auto size = set.examples[0].tokens(), before = set.examples[0].windows[0].context.begin;
  EXPECT_EQ(before, 9);  // the first token, "which?", two separators
  at::Tensor expected = torch::zeros({1, 2 * size}, torch::kBool);
  for (const int64_t first : {int64_t{0}, size}) expected.narrow(1, first, before).fill_(true);
  EXPECT_TRUE(global.equal(expected));

  const ExampleSet letters = find_the_letter(1, 1);
  models::HeadConfig label = head_for(find_the_letter(20, 1), {});
  label.global_tokens = models::GlobalTokens::task;
  const std::vector<int64_t> one = {0};
  EXPECT_EQ(make_batch(letters, one, label, byte_encoder(), {}, {}).pack.global_tokens->sum().item<int64_t>(), 1);
}

TEST(Batches, AnAnswerBehindTheCutHasNoLoss) {
  ExampleSet set = find_the_digits(2, 1);
  set.examples[0].windows[0].answers.clear();
  const auto model = model_for(set);
  const Batch batch = batch_of(set, *model, {0, 1});
  EXPECT_EQ(batch.targets_in_loss, 1);
  EXPECT_EQ(losses_of(*model, batch).size(0), 1);
  EXPECT_EQ(losses_of(*model, batch_of(set, *model, {0})).size(0), 0);
}

}  // namespace
}  // namespace longspan::tasks
