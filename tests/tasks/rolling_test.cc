// The rolling experiment on examples of small tasks, with drawn weights.
#include "longspan/tasks/rolling.h"

#include <algorithm>

#include "longspan/tasks/evaluation_sums.h"
#include "longspan/testing/compare.h"
#include "tests/tasks/small_tasks.h"

namespace longspan::tasks {
namespace {

std::shared_ptr<models::EncoderModel> drawn(const ExampleSet& set, const std::string& attention,
                                            const FieldValues& options = {}) {
  models::EncoderConfig config = byte_encoder();
  config.attention = attention;
  config.attention_options = options;
  config.deviation = 0.3;
  auto model = make_model(config, head_for(set, {}), 3);
  model->to(at::kDouble);
  return model;
}

const std::vector<int64_t> kShifts = {0, 1, 5};

/// Sums over some hundred float64 numbers that differ by rounding, relative to numbers of size 1.
double bound() { return testing::sum_bound<double>(1 << 12); }

TEST(RolledExamples, AShiftOfZeroIsAnEvaluation) {
  for (const ExampleSet& set :
       {find_the_letter(20, 1), find_all_letters(20, 1), find_the_digits(20, 1, true), repetitions(20, 1)}) {
    const auto model = drawn(set, "softmax");
    const Evaluation plain = evaluate(*model, set, {});
    const auto rolled = evaluate_rolled(*model, set, kShifts, {});
    ASSERT_EQ(rolled.size(), 3u);
    EXPECT_EQ(rolled[0].shift, 0);
    EXPECT_EQ(rolled[0].hidden_change, 0);
    EXPECT_EQ(rolled[0].head_change, 0);
    EXPECT_EQ(rolled[0].evaluation.loss, plain.loss);
    EXPECT_EQ(rolled[0].evaluation.metrics, plain.metrics);
    EXPECT_EQ(rolled[0].evaluation.tokens, plain.tokens);
    for (const std::size_t i : {1, 2}) {
      EXPECT_EQ(rolled[i].shift, kShifts[i]);
      EXPECT_GT(rolled[i].hidden_change, 1e-2) << "learned positions by slot";
      EXPECT_GT(rolled[i].head_change, 1e-2);
      EXPECT_NE(rolled[i].evaluation.loss, plain.loss);
      EXPECT_EQ(rolled[i].evaluation.targets, plain.targets);
      EXPECT_EQ(rolled[i].evaluation.examples, plain.examples);
    }
  }
}

TEST(RolledExamples, NothingChangesWhereAllGoesAlong) {
  const FieldValues options = {{"pattern", "window_band+global"}, {"k", int64_t{2}}, {"g", int64_t{2}}};
  for (const ExampleSet& set : {find_the_letter(20, 1), find_the_digits(20, 1), repetitions(20, 1)}) {
    const auto model = drawn(set, "diffuser", options);
    RollingOptions rolling;
    rolling.how.positions = models::RolledPositions::token;
    rolling.how.pattern = nn::PatternRoll::all;
    const Evaluation plain = evaluate(*model, set, {});
    for (const RolledEvaluation& each : evaluate_rolled(*model, set, kShifts, rolling)) {
      EXPECT_LT(each.hidden_change, bound());
      EXPECT_LT(each.head_change, bound());
      EXPECT_NEAR(each.evaluation.loss, plain.loss, bound());
    }
    rolling.how.pattern = nn::PatternRoll::none;
    EXPECT_GT(evaluate_rolled(*model, set, kShifts, rolling)[2].hidden_change, 1e-3);
  }
}

// Rolling the tokens of every example and reading the first one is the experiment as tensors do it.
TEST(RolledExamples, TheFirstSlotOfRolledTokens) {
  const ExampleSet set = find_the_letter(20, 1);
  const auto model = drawn(set, "softmax");
  RollingOptions rolling;
  rolling.how.feature = models::RolledFeature::slot;
  const auto got = evaluate_rolled(*model, set, kShifts, rolling);
  for (std::size_t i = 0; i < kShifts.size(); ++i) {
    ExampleSet moved = set;
    for (Example& example : moved.examples) {
      std::vector<int32_t>& tokens = example.windows.front().tokens;
      std::rotate(tokens.begin(), tokens.end() - kShifts[i], tokens.end());
    }
    const Evaluation expected = evaluate(*model, moved, {});
    EXPECT_EQ(got[i].evaluation.loss, expected.loss);
    EXPECT_EQ(got[i].evaluation.metrics, expected.metrics);
  }
}

// A document of many windows is read in parts, whatever is measured of it.
TEST(RolledExamples, LongDocumentsAreReadInParts) {
  ExampleSet set;
  auto options = sequence_options(models::HeadKind::question, 64);
  options.windows = true;
  options.stride = 10;
  Rng rng(1);
  const std::string context = random_letters(rng, 3000, "abcdef ") + "123";
  add_record(set, options, QuestionRecord{"q", context, {{3000, 3003}}, place(1)});
  const auto model = drawn(set, "softmax");
  const Batch batch = make_batch(set, std::vector<int64_t>{0}, model->head_config(), model->encoder_config(), {}, {});
  ASSERT_GT(batch.pack.tokens.size(1), 2 * 8192);
  int64_t tokens = 0, parts = 0;
  each_part(batch, [&](const Batch& part) {
    EXPECT_LE(part.pack.tokens.size(1), 8192);
    tokens += part.pack.tokens.size(1);
    ++parts;
  });
  EXPECT_EQ(tokens, batch.pack.tokens.size(1));
  EXPECT_GE(parts, 3);
  const Evaluation plain = evaluate(*model, set, {});
  const auto rolled = evaluate_rolled(*model, set, kShifts, {});
  EXPECT_EQ(rolled[0].evaluation.loss, plain.loss);
  EXPECT_EQ(rolled[0].evaluation.metrics, plain.metrics);
  EXPECT_EQ(rolled[0].head_change, 0);
  EXPECT_GT(rolled[1].head_change, 1e-2);
}

TEST(RolledExamples, NeedNoLabelsToTellWhatChanges) {
  const ExampleSet set = find_the_letter(20, 1);
  ExampleSet unlabelled = set;
  for (Example& example : unlabelled.examples) example.labels.clear();
  const auto model = drawn(set, "softmax");
  RollingOptions rolling;
  rolling.labelled = false;
  const auto with = evaluate_rolled(*model, set, kShifts, {}),
             without = evaluate_rolled(*model, unlabelled, kShifts, rolling);
  for (std::size_t i = 0; i < kShifts.size(); ++i) {
    EXPECT_EQ(without[i].hidden_change, with[i].hidden_change);
    EXPECT_EQ(without[i].head_change, with[i].head_change);
    EXPECT_EQ(without[i].evaluation.targets, 0);
  }
}

}  // namespace
}  // namespace longspan::tasks
