#include "longspan/tasks/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "longspan/models/encoder_files.h"
#include "longspan/nn/packing.h"
#include "longspan/train/checkpoint.h"
#include "tests/io/scratch_folder.h"
#include "tests/tasks/small_tasks.h"
#include "tests/train/small_runs.h"

namespace longspan::tasks {
namespace {

using train::Log;

TaskTrainer trainer_of(const ExampleSet& train, const ExampleSet* valid, const TaskOptions& options,
                       double dropout = 0) {
  models::EncoderConfig config = byte_encoder();
  config.dropout = dropout;
  return {make_model(config, head_for(train, {}), options.train.seed), train, valid, options};
}

/// Every weight and moment, and the step.
std::string bits(TaskTrainer& trainer) { return models::fingerprint(trainer.model().weights()); }

TEST(Tasks, LearnToClassify) {
  const ExampleSet train = find_the_letter(400, 1), valid = find_the_letter(200, 2);
  TaskTrainer trainer = trainer_of(train, &valid, small_task(150));
  Log log;
  EXPECT_TRUE(trainer.run(log));
  // Chance is 0.5 with a spread of 0.035.
  EXPECT_GT(metric(log.validations.back(), "accuracy"), 0.9);
  EXPECT_GT(metric(log.validations.back(), "macro_f1"), 0.9);
  EXPECT_LT(log.steps.back().loss, log.steps.front().loss);
}

TEST(Tasks, LearnSeveralLabels) {
  const ExampleSet train = find_all_letters(400, 1), valid = find_all_letters(200, 2);
  TaskTrainer trainer = trainer_of(train, &valid, small_task(150));
  Log log;
  trainer.run(log);
  EXPECT_GT(metric(log.validations.back(), "micro_f1"), 0.9);  // every label always: 2/3
  EXPECT_GT(metric(log.validations.back(), "exact_match"), 0.7);
}

TEST(Tasks, LearnToFindAnswers) {
  const ExampleSet train = find_the_digits(400, 1), valid = find_the_digits(100, 2);
  TaskTrainer trainer = trainer_of(train, &valid, small_task(250));
  Log log;
  trainer.run(log);
  EXPECT_GT(metric(log.validations.back(), "exact_match"), 0.5);  // one of 17 by chance
  EXPECT_GE(metric(log.validations.back(), "f1"), metric(log.validations.back(), "exact_match"));
}

TEST(Tasks, LearnToChoose) {
  const ExampleSet train = choose_the_digit(400, 1), valid = choose_the_digit(100, 2);
  TaskTrainer trainer = trainer_of(train, &valid, small_task(200));
  Log log;
  trainer.run(log);
  EXPECT_GT(metric(log.validations.back(), "accuracy"), 0.8);  // one of 3 by chance
}

TEST(Tasks, LearnThatThereIsNoAnswer) {
  const ExampleSet train = find_the_digits(400, 1, true), valid = find_the_digits(100, 2, true);
  TaskTrainer trainer = trainer_of(train, &valid, small_task(250));
  EXPECT_TRUE(trainer.model().head_config().may_be_empty);
  Log log;
  trainer.run(log);
  EXPECT_GT(metric(log.validations.back(), "exact_match"), 0.5);  // always "": 0.25
}

TEST(Tasks, LearnHiddenTokens) {
  const ExampleSet train = repetitions(200, 1), valid = repetitions(50, 2);
  TaskTrainer trainer = trainer_of(train, &valid, small_task(150));
  Log log;
  trainer.run(log);
  const auto& last = log.validations.back();
  EXPECT_GT(metric(last, "accuracy"), 0.8);  // one of 8 by chance
  EXPECT_DOUBLE_EQ(metric(last, "perplexity"), std::exp(last.loss));
  EXPECT_DOUBLE_EQ(metric(last, "bits_per_token"), last.loss / std::log(2.0));
  // The same tokens are hidden every time.
  EXPECT_EQ(trainer.validate().loss, last.loss);
}

TEST(Tasks, AnswerWithTheirMode) {
  const ExampleSet set = find_the_letter(20, 1);
  TaskTrainer trainer = trainer_of(set, &set, small_task(3), 0.1);
  trainer.validate();
  EXPECT_TRUE(trainer.model().is_training());
}

TEST(Tasks, AccumulationOnlyDividesTheWork) {
  const ExampleSet set = find_the_letter(50, 1);
  double losses[2], norms[2];
  for (const int64_t accumulation : {1, 4}) {
    TaskOptions options = small_task(3);
    options.train.accumulation = accumulation;
    TaskTrainer trainer = trainer_of(set, nullptr, options, 0.2);
    const auto result = trainer.step();
    losses[accumulation > 1] = result.loss;
    norms[accumulation > 1] = result.grad_norm;
  }
  // One model, the same dropout: other shapes of the same products in float32.
  EXPECT_NEAR(losses[0], losses[1], testing::sum_bound<float>(1000) * losses[0]);
  EXPECT_NEAR(norms[0], norms[1], testing::sum_bound<float>(1000) * (1 + norms[0]));
}

class TaskRuns : public ScratchFolder {
 protected:
  const ByteTokenizer tokenizer_;
};

TEST_F(TaskRuns, ResumesBitByBit) {
  for (const models::HeadKind kind : {models::HeadKind::masked_language, models::HeadKind::question}) {
    const ExampleSet train = kind == models::HeadKind::question ? find_the_digits(30, 1, true) : repetitions(30, 1);
    const std::string folder = path(to_string(kind));
    const auto options = small_task(12);
    TaskTrainer whole = trainer_of(train, &train, options, 0.1);
    Log unused;
    whole.run(unused);

    TaskTrainer first = trainer_of(train, &train, options, 0.1);
    Log log;
    log.stop_at = 5;
    EXPECT_FALSE(first.run(log, folder, &tokenizer_));
    torch::manual_seed(99);
    TaskTrainer second = trainer_of(train, &train, options, 0.1);
    EXPECT_TRUE(second.resume(folder).empty());
    EXPECT_EQ(second.steps_done(), 5);
    EXPECT_TRUE(second.run(log, folder, &tokenizer_));
    EXPECT_EQ(bits(second), bits(whole));
    EXPECT_EQ(second.validate().loss, whole.validate().loss);
  }
}

TEST_F(TaskRuns, LeaveAModelThatCanBeLoaded) {
  const ExampleSet set = find_the_letter(30, 1);
  TaskTrainer trainer = trainer_of(set, &set, small_task(4));
  Log log;
  trainer.run(log, path("run"), &tokenizer_, parse_json(R"({"data": {"train": "x"}})", "test"));
  const models::LoadedEncoder loaded = models::load_encoder(path("run"));
  EXPECT_EQ(models::fingerprint(loaded.model->weights()), bits(trainer));
  EXPECT_EQ(loaded.config["task"]["steps"], 4);
  EXPECT_EQ(loaded.config["data"]["train"], "x");
  EXPECT_EQ(saved_configuration(path("run"))["head"]["labels"].dump(), R"(["x","y"])");
  EXPECT_TRUE(std::filesystem::exists(path("run/best/training.safetensors")));
  const Evaluation again = evaluate(*loaded.model, set, {});
  EXPECT_EQ(again.loss, log.validations.back().loss);
}

TEST_F(TaskRuns, KeepTheBestByTheMetric) {
  const ExampleSet train = find_the_letter(60, 1), valid = find_the_letter(40, 2);
  for (const BestBy best_by : {BestBy::metric, BestBy::loss}) {
    TaskOptions options = small_task(24);
    options.train.valid_every = 2;
    options.train.learning_rate = 0.02;  // restless
    options.best_by = best_by;
    TaskTrainer trainer = trainer_of(train, &valid, options);
    Log log;
    const std::string run = path(best_by == BestBy::metric ? "metric" : "loss");
    trainer.run(log, run, &tokenizer_);
    const auto before = [&](const train::ValidationResult& a, const train::ValidationResult& b) {
      const double accuracy = metric(a, "accuracy"), other = metric(b, "accuracy");
      return best_by == BestBy::metric && accuracy != other ? accuracy > other : a.loss < b.loss;
    };
    const auto best = std::min_element(log.validations.begin(), log.validations.end(), before);
    EXPECT_EQ(train::checkpoint_info(run + "/best").step, best->step);
    EXPECT_EQ(evaluate(*models::load_encoder(run + "/best").model, valid, {}).loss, best->loss);
  }
}

TEST_F(TaskRuns, CompareValidationsOfOneKindOfTheSameExamples) {
  const ExampleSet train = find_the_letter(60, 1), easy = find_the_letter(40, 2), hard = find_the_letter(40, 3);
  TaskOptions options = small_task(2);
  TaskTrainer first = trainer_of(train, &easy, options);
  Log log;
  first.run(log, path("run"), &tokenizer_);
  EXPECT_TRUE(train::checkpoint_info(path("run/best")).validated_on.starts_with("accuracy of 40 examples "));
  // One step further with other examples: best of these, however good it is.
  options.train.steps = 3;
  options.train.learning_rate = 1;
  TaskTrainer second = trainer_of(train, &hard, options);
  second.resume(path("run"));
  second.run(log, path("run"), &tokenizer_);
  EXPECT_EQ(train::checkpoint_info(path("run/best")).step, 3);
}

TEST(Tasks, KnowWhatTheyGoBy) {
  using models::HeadKind;
  EXPECT_EQ(metric_to_go_by(BestBy::metric, HeadKind::masked_language), "");
  EXPECT_EQ(metric_to_go_by(BestBy::accuracy, HeadKind::masked_language), "accuracy");
  EXPECT_EQ(metric_to_go_by(BestBy::metric, HeadKind::classification), "accuracy");
  EXPECT_EQ(metric_to_go_by(BestBy::micro_f1, HeadKind::classification), "micro_f1");
  EXPECT_EQ(metric_to_go_by(BestBy::metric, HeadKind::multi_label), "macro_f1");
  EXPECT_EQ(metric_to_go_by(BestBy::metric, HeadKind::question), "f1");
  EXPECT_EQ(metric_to_go_by(BestBy::loss, HeadKind::question), "");
  EXPECT_EQ(error_of([] { metric_to_go_by(BestBy::f1, HeadKind::classification); }),
            "task: best_by of classification must be metric, loss, accuracy, macro_f1, micro_f1, got f1");
}

/// Makes a weight not finite after the second step.
struct SpoilAfterTwo : Log {
  explicit SpoilAfterTwo(TaskTrainer& trainer) : trainer(trainer) {}
  void on_step(const train::StepResult& result) override {
    Log::on_step(result);
    if (result.step != 2) return;
    torch::NoGradGuard no_grad;
    trainer.model().weights().at("encoder.blocks.0.feed_forward.up.bias").fill_(NAN);
  }
  TaskTrainer& trainer;
};

TEST_F(TaskRuns, LeaveWhatRepeatsAStepThatIsNotFinite) {
  const ExampleSet set = find_the_letter(30, 1);
  TaskOptions options = small_task(5);
  options.train.accumulation = 2;
  TaskTrainer trainer = trainer_of(set, nullptr, options, 0.1);
  SpoilAfterTwo log(trainer);
  const std::string place = path("run/nonfinite");
  const std::string said = error_of<train::NonFiniteError>([&] {
    trainer.run(log, path("run"), &tokenizer_, parse_json(R"({"data": {"train": ["a.jsonl", "b.jsonl"]}})", "test"));
  });
  EXPECT_TRUE(
      said.starts_with("task: the loss is not finite at step 3 (encoder.blocks.0.feed_forward.up.bias is not "
                       "finite before the step; first in the forward pass at aten::"))
      << said;
  EXPECT_TRUE(said.ends_with("; the state before it lies in " + place)) << said;
  EXPECT_EQ(trainer.steps_done(), 2);

  const Json report = load_json(place + "/nonfinite.json");
  EXPECT_EQ(report["step"], 3);
  EXPECT_EQ(report["learning_rate"], train::learning_rate(options.train, 3));
  EXPECT_TRUE(report["repeat"].get<std::string>().starts_with(
      "longspan task train classification --data a.jsonl b.jsonl --out " + place + " --resume"));
  ASSERT_EQ(report["examples"].size(), 16u);
  const auto rows = ExampleSampler(30, 16, 0).rows(2);
  const SafetensorsFile batch(place + "/batch.safetensors");
  EXPECT_TRUE(models::read_tensor(batch, "batch.1.examples").equal(nn::index_tensor({rows.begin() + 8, rows.end()})));
  EXPECT_EQ(report["examples"][15], set.places[static_cast<std::size_t>(rows[15])].text());
  const at::Tensor cu = models::read_tensor(batch, "batch.1.cu_seqlens");
  EXPECT_EQ(models::read_tensor(batch, "batch.1.tokens").size(1), cu[8].item<int64_t>());

  // The step again, from the files alone.
  TaskTrainer again = trainer_of(set, nullptr, options, 0.1);
  again.resume(place);
  EXPECT_EQ(again.steps_done(), 2);
  EXPECT_EQ(error_of<train::NonFiniteError>([&] { again.step(); }), "task: the loss is not finite at step 3");
}

TEST_F(TaskRuns, RefuseAnotherModelsCheckpoint) {
  const ExampleSet letters = find_the_letter(30, 1), digits = find_the_digits(30, 1);
  TaskTrainer trainer = trainer_of(letters, nullptr, small_task(2));
  Log log;
  trainer.run(log, path("run"), &tokenizer_);
  TaskTrainer other = trainer_of(digits, nullptr, small_task(2));
  const std::string error = error_of([&] { other.resume(path("run")); });
  EXPECT_NE(error.find("another head"), std::string::npos) << error;
  TaskOptions longer = small_task(3);
  longer.train.learning_rate = 1e-3;
  TaskTrainer changed = trainer_of(letters, nullptr, longer);
  const auto warnings = changed.resume(path("run"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "resume: options changed: steps 2 -> 3, learning_rate 0.005 -> 0.001");
}

TEST(Tasks, StopAtALossThatIsNotFinite) {
  const ExampleSet set = find_the_letter(30, 1);
  TaskTrainer trainer = trainer_of(set, nullptr, small_task(2));
  {
    torch::NoGradGuard no_grad;
    trainer.model().weights().at("head.out.bias").fill_(std::numeric_limits<float>::infinity());
  }
  const std::string before = bits(trainer);
  EXPECT_THROW(trainer.step(), train::NonFiniteError);
  EXPECT_EQ(bits(trainer), before);
  EXPECT_EQ(trainer.steps_done(), 0);
}

TEST(Tasks, RefuseWhatDoesNotFit) {
  const ExampleSet letters = find_the_letter(30, 1), digits = find_the_digits(3, 1), none;
  const auto error = [&](const ExampleSet& train, const ExampleSet* valid, const TaskOptions& options) {
    return error_of([&] { TaskTrainer(make_model(byte_encoder(), head_for(letters, {}), 0), train, valid, options); });
  };
  EXPECT_EQ(error(none, nullptr, small_task(1)), "task: the training data has no example");
  EXPECT_EQ(error(digits, nullptr, small_task(1)),
            "task: the training data is for question, the model for classification");
  TaskOptions options = small_task(1);
  options.train.valid_every = 1;
  EXPECT_EQ(error(letters, nullptr, options), "task: valid_every is 1, but there are no validation data to measure");
  options.train.accumulation = 3;
  EXPECT_EQ(error(letters, &letters, options),
            "train: batch must be a multiple of accumulation times the number of processes, got batch 16, "
            "accumulation 3 and 1 process");
  ExampleSet longer;
  add_record(longer, sequence_options(models::HeadKind::classification, 100),
             TextRecord{std::string(80, 'a'), {"x"}, place(1)});
  EXPECT_EQ(error(longer, nullptr, small_task(1)),
            "task: the training data: data.jsonl:1 has no number for its label (number_labels)");
  number_labels(longer, {"x", "y"});
  EXPECT_EQ(error(longer, nullptr, small_task(1)),
            "task: the training data has a sequence of 82 tokens, but encoder.max_positions is 64");
}

TEST(Tasks, FillHiddenTokens) {
  const ExampleSet set = repetitions(200, 1);
  TaskTrainer trainer = trainer_of(set, nullptr, small_task(150));
  Log log;
  trainer.run(log);
  const models::SpecialTokens special = special_tokens(byte_encoder());
  std::vector<int64_t> sequence = {special.first};
  for (const char c : std::string_view("eeeeeeeeee")) sequence.push_back(c);
  sequence.push_back(special.separator);
  sequence[5] = special.mask;
  const auto filled = fill(trainer.model(), sequence, 3);
  ASSERT_EQ(filled.size(), 1u);
  EXPECT_EQ(filled[0].place, 5);
  ASSERT_EQ(filled[0].candidates.size(), 3u);
  EXPECT_EQ(filled[0].candidates[0].first, 'e');
  EXPECT_GT(filled[0].candidates[0].second, filled[0].candidates[1].second);
}

}  // namespace
}  // namespace longspan::tasks
