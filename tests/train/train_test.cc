#include "longspan/train/train.h"

#include <gtest/gtest.h>

#include <cmath>

#include "longspan/models/tensor_files.h"
#include "longspan/train/checkpoint.h"
#include "tests/models/small_models.h"
#include "tests/train/small_runs.h"
#include "tests/train/token_files.h"

namespace longspan::train {
namespace {

class Train : public TokenFiles, public ::testing::WithParamInterface<std::string> {
 protected:
  models::ModelConfig config() const { return models::small_config(GetParam()); }
};

class TrainFiles : public TokenFiles {
 protected:
  models::ModelConfig config() const { return models::small_config("lavo"); }
};

TEST_P(Train, LearnsTheLanguage) {
  const TokenFile train = tokens("train", 5000), valid = tokens("valid", 1000, 2);
  Trainer trainer(make_model(config(), 1), train, &valid, small_options(120));
  Log log;
  EXPECT_TRUE(trainer.run(log));
  ASSERT_EQ(log.steps.size(), 120u);
  EXPECT_NEAR(log.steps.front().loss, std::log(11), 0.3) << "nothing is known at first";
  ASSERT_EQ(log.validations.size(), 1u);
  EXPECT_EQ(log.validations[0].tokens, 4 * 24);
  // One token in 16 is drawn from 11, the rest follow: the entropy is 0.35 nats. Half of ln 11 needs most of the rule.
  EXPECT_LT(log.validations[0].loss, std::log(11) / 2);
}

TEST_P(Train, BasesStayOrthogonal) {
  const TokenFile train = tokens("train", 3000);
  Trainer trainer(make_model(config(), 1), train, nullptr, small_options(100));
  Log log;
  trainer.run(log);
  int bases = 0;
  for (const auto& item : trainer.model().named_parameters()) {
    if (!item.key().ends_with(".basis")) continue;
    ++bases;
    const at::Tensor basis = item.value().detach().to(torch::kDouble);
    const at::Tensor gram = basis.matmul(basis.transpose(-1, -2));
    // Rows of norm 1 and width 8, each entry rounded to float32.
    EXPECT_CLOSE(gram, torch::eye(gram.size(-1), torch::kDouble).expand_as(gram), 2 * testing::sum_bound<float>(8));
  }
  EXPECT_EQ(bases, GetParam().starts_with("lavo") ? 2 : 0) << "one in each layer";
}

TEST_P(Train, StoppedAndResumedGivesTheSameBits) {
  const TokenFile train = tokens("train", 3000);
  models::ModelConfig with_dropout = config();
  with_dropout.dropout = 0.1;
  const auto run = [&](Trainer& trainer, int64_t stop_at) {
    Log log;
    log.stop_at = stop_at;
    const Letters letters;
    trainer.run(log, path("checkpoint"), &letters);
    return log;
  };
  Trainer whole(make_model(with_dropout, 3), train, nullptr, small_options(11));
  const Log all = run(whole, -1);

  std::filesystem::remove_all(path("checkpoint"));
  Log first, second;
  {
    Trainer trainer(make_model(with_dropout, 3), train, nullptr, small_options(11));
    first = run(trainer, 6);
    EXPECT_FALSE(trainer.done());
    EXPECT_EQ(first.checkpoints, std::vector<int64_t>{6});
  }
  Trainer resumed(make_model(with_dropout, 99), train, nullptr, small_options(11));
  torch::randn({5});  // whatever happened to the generator meanwhile
  EXPECT_TRUE(resumed.resume(path("checkpoint")).empty());
  EXPECT_EQ(resumed.steps_done(), 6);
  second = run(resumed, -1);

  ASSERT_EQ(first.steps.size() + second.steps.size(), all.steps.size());
  for (std::size_t i = 0; i < all.steps.size(); ++i) {
    const StepResult& part = i < 6 ? first.steps[i] : second.steps[i - 6];
    EXPECT_EQ(part.step, all.steps[i].step);
    EXPECT_EQ(part.loss, all.steps[i].loss) << "step " << part.step;
    EXPECT_EQ(part.grad_norm, all.steps[i].grad_norm) << "step " << part.step;
  }
  EXPECT_EQ(resumed.model().identity(), whole.model().identity());
  const auto a = whole.model().named_parameters(), b = resumed.model().named_parameters();
  for (const auto& item : a) EXPECT_TRUE(item.value().equal(b[item.key()])) << item.key();
}

INSTANTIATE_TEST_SUITE_P(Attentions, Train,
                         ::testing::Values("lavo", "lavo_selective", "diffuser", "gated_delta_net", "gla", "local",
                                           "softmax"));

// The penalty of a basis that is not orthogonal moves the weights; the loss that is reported is that of the tokens.
TEST_F(TrainFiles, AddsAuxiliaryLossesToTheGradient) {
  const TokenFile train = tokens("train", 3000);
  const auto first_step = [&](double penalty) {
    models::ModelConfig soft = config();
    soft.attention_options["basis_mode"] = std::string("soft");
    soft.attention_options["basis_penalty"] = penalty;
    const auto model = make_model(soft, 1);
    {
      torch::NoGradGuard no_grad;
      model->named_parameters()["blocks.0.attention.basis"].mul_(2);
    }
    return Trainer(model, train, nullptr, small_options(1)).step();
  };
  const StepResult without = first_step(0), with = first_step(1);
  EXPECT_EQ(with.loss, without.loss);
  // 4 (B B^T - I) B with 8 rows of norm 2: a gradient of norm 4 * 3 * 2 * sqrt(8) joins one that clips at about 1.
  EXPECT_NEAR(with.grad_norm, 24 * std::sqrt(8.0), without.grad_norm + 1e-3);
  EXPECT_LT(without.grad_norm, 30);
}

TEST_F(TrainFiles, RefusesCheckpointsThatDoNotFit) {
  const TokenFile train = tokens("train", 3000);
  const Letters letters;
  Trainer trainer(make_model(config(), 3), train, nullptr, small_options(4));
  trainer.step();
  trainer.save(path("checkpoint"), letters, parse_json(R"({"data": {"path": "x"}})", "test"));
  const Json saved = load_json(path("checkpoint/config.json"));
  EXPECT_EQ(saved["train"]["steps"], 4);
  EXPECT_EQ(saved["data"]["path"], "x");

  const std::string file = path("checkpoint/training.safetensors"), content = get("checkpoint/training.safetensors");
  std::string altered = content;
  altered[altered.size() - 100] ^= 1;
  put("checkpoint/training.safetensors", altered);
  EXPECT_EQ(error_of([&] { trainer.resume(path("checkpoint")); }),
            file + ": the content was altered after it was written");
  put("checkpoint/training.safetensors", content.substr(0, 1000));
  EXPECT_NE(error_of([&] { trainer.resume(path("checkpoint")); }), "");
  put("checkpoint/training.safetensors", content);

  models::ModelConfig wider = config();
  wider.feed_forward = 25;
  Trainer other(make_model(wider, 3), train, nullptr, small_options(4));
  EXPECT_EQ(error_of([&] { other.resume(path("checkpoint")); }), file + ": another model (feed_forward 24 -> 25)");
  EXPECT_NE(error_of([&] { other.resume(path("nowhere")); }), "");

  const TokenFile more = tokens("more", 3001);
  TrainOptions options = small_options(4);
  options.learning_rate = 5e-3;
  Trainer changed(make_model(config(), 3), more, nullptr, options);
  const auto warnings = changed.resume(path("checkpoint"));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0], "resume: other training data: they had 3000 tokens, now 3001");
  EXPECT_EQ(warnings[1], "resume: options changed: learning_rate 0.01 -> 0.005");
}

TEST_F(TrainFiles, ASaveCutShortAfterItsFirstFileResumes) {
  const TokenFile train = tokens("train", 3000);
  const Letters letters;
  Trainer trainer(make_model(config(), 3), train, nullptr, small_options(4));
  trainer.step();
  EXPECT_FALSE(is_resumable(path("checkpoint")));
  // The first of the other files cannot be written.
  std::filesystem::create_directories(path("checkpoint/config.json"));
  EXPECT_NE(error_of([&] { trainer.save(path("checkpoint"), letters); }), "");
  EXPECT_FALSE(std::filesystem::exists(path("checkpoint/model.safetensors")));

  ASSERT_TRUE(is_resumable(path("checkpoint")));
  const Json saved = saved_configuration(path("checkpoint"));
  EXPECT_TRUE(models::config_from_json(saved["model"]) == config());
  EXPECT_EQ(saved["train"], to_json(small_options(4)));
  Trainer resumed(make_model(config(), 99), train, nullptr, small_options(4));
  EXPECT_TRUE(resumed.resume(path("checkpoint")).empty());
  EXPECT_EQ(resumed.steps_done(), 1);
  EXPECT_EQ(resumed.model().identity(), trainer.model().identity());
}

TEST_F(TrainFiles, AValidationLossThatIsNotFiniteIsNoResult) {
  const TokenFile train = tokens("train", 3000), valid = tokens("valid", 200, 2);
  Trainer trainer(make_model(config(), 3), train, &valid, small_options(4));
  {
    torch::NoGradGuard no_grad;
    trainer.model().named_parameters()["blocks.0.feed_forward.up.bias"][0] = NAN;
  }
  EXPECT_EQ(error_of<RunError>([&] { trainer.validate(); }), "train: the validation loss is not finite at step 0");
}

TEST_F(TrainFiles, ALossThatIsNotFiniteEndsTheRunBeforeTheUpdate) {
  const TokenFile train = tokens("train", 3000);
  Trainer trainer(make_model(config(), 3), train, nullptr, small_options(4));
  trainer.step();
  {
    torch::NoGradGuard no_grad;
    trainer.model().named_parameters()["blocks.0.feed_forward.up.bias"][0] = NAN;
  }
  const std::string before = trainer.model().identity();
  EXPECT_EQ(error_of<RunError>([&] { trainer.step(); }), "train: the loss is not finite at step 2");
  EXPECT_EQ(trainer.steps_done(), 1);
  EXPECT_EQ(trainer.model().identity(), before);
}

TEST_F(TrainFiles, AFinishedRunIsSavedOnceMore) {
  const TokenFile train = tokens("train", 3000), valid = tokens("valid", 200, 2);
  const Letters letters;
  Log first, second;
  Trainer trainer(make_model(config(), 3), train, &valid, small_options(2));
  EXPECT_TRUE(trainer.run(first, path("checkpoint"), &letters));
  std::filesystem::remove(path("checkpoint/model.safetensors"));  // as if interrupted before it

  Trainer resumed(make_model(config(), 99), train, &valid, small_options(2));
  resumed.resume(path("checkpoint"));
  EXPECT_TRUE(resumed.done());
  EXPECT_TRUE(resumed.run(second, path("checkpoint"), &letters));
  EXPECT_TRUE(second.steps.empty());
  EXPECT_EQ(second.checkpoints, std::vector<int64_t>{2});
  ASSERT_EQ(second.validations.size(), 1u);
  EXPECT_EQ(second.validations[0].loss, first.validations[0].loss);
  EXPECT_TRUE(std::filesystem::exists(path("checkpoint/model.safetensors")));
}

TEST_F(TrainFiles, AFolderThatCannotBeWrittenIsFoundBeforeTheFirstStep) {
  const TokenFile train = tokens("train", 3000);
  const Letters letters;
  Trainer trainer(make_model(config(), 3), train, nullptr, small_options(2));
  Log log;
  const std::string folder = path("train/model");  // `train` is a file
  EXPECT_EQ(error_of<RunError>([&] { trainer.run(log, folder, &letters); }),
            folder + ": cannot be created: Not a directory");
  EXPECT_EQ(trainer.steps_done(), 0);
}

TEST_F(TrainFiles, HostileConfigurationsAreOneLine) {
  const TokenFile train = tokens("train", 3000);
  const Letters letters;
  Trainer trainer(make_model(config(), 3), train, nullptr, small_options(2));
  trainer.step();
  trainer.save(path("checkpoint"), letters);
  const std::string file = path("checkpoint/training.safetensors");
  std::map<std::string, std::string> metadata;
  models::NamedTensors content;
  {
    const SafetensorsFile good(file);
    metadata = good.metadata();
    for (const auto& [name, info] : good.tensors()) content[name] = models::read_tensor(good, name);
  }
  const auto refusal = [&](const std::string& key, const std::string& value) {
    auto changed = metadata;
    changed[key] = value;
    if (value.empty()) changed.erase(key);
    models::write_tensors(file, content, changed);
    return error_of([&] { trainer.resume(path("checkpoint")); });
  };
  EXPECT_EQ(refusal("step", "1"), "");
  EXPECT_EQ(refusal("step", "-1"), file + ": step must be a count, got '-1'");
  EXPECT_EQ(refusal("step", "1x"), file + ": step must be a count, got '1x'");
  EXPECT_EQ(refusal("step", "9223372036854775808"), file + ": step must be a count, got '9223372036854775808'");
  EXPECT_EQ(refusal("model", "[]"), file + ": model must be an object, got array");
  EXPECT_EQ(error_of([&] { saved_configuration(path("checkpoint")); }), file + ": model must be an object, got array");
  EXPECT_EQ(refusal("train", "3"), file + ": train must be an object, got number");
  EXPECT_EQ(refusal("format", "else"), file + ": expected format longspan.training.1, got else");
  for (const char* key : {"format", "step", "threads", "train_tokens", "model", "train", "fingerprint"})
    EXPECT_EQ(refusal(key, ""), file + ": has no '" + key + "' in its metadata");
  EXPECT_EQ(trainer.steps_done(), 1);
}

TEST_F(TrainFiles, WrongInputIsRefused) {
  const TokenFile train = tokens("train", 24);
  EXPECT_NE(error_of([&] { Trainer(make_model(config(), 3), train, nullptr, small_options(4)); }), "")
      << "25 tokens are needed";
  const TokenFile bytes(put("bytes", std::string(100, 'a')), TokenType::u8, 256);
  EXPECT_EQ(error_of([&] { Trainer(make_model(config(), 3), bytes, nullptr, small_options(4)); }),
            path("bytes") + ": the data have a vocabulary of 256, the model 11");
}

TEST_F(TrainFiles, ValidationCountsTheBytesBehindItsTargets) {
  const TokenFile train = tokens("train", 3000), valid = tokens("valid", 200, 2);
  const auto bytes = [](int64_t first, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = first; i < first + count; ++i) sum += i % 5;
    return sum;
  };
  TrainData data;
  data.train = &train;
  data.valid = &valid;
  EXPECT_EQ(Trainer(make_model(config(), 3), data, small_options(4)).validate().source_bytes, 96);
  data.valid_source_bytes = bytes;
  int64_t expected = 0;
  for (int64_t block = 0; block < 4; ++block) expected += bytes(block * ((200 - 25) / 3) + 1, 24);
  EXPECT_EQ(Trainer(make_model(config(), 3), data, small_options(4)).validate().source_bytes, expected);
}

TEST_F(TrainFiles, ValidationLooksAtTheSameTokensEveryTime) {
  const TokenFile train = tokens("train", 3000), valid = tokens("valid", 200, 2);
  Trainer trainer(make_model(config(), 3), train, &valid, small_options(4));
  const ValidationResult a = trainer.validate(), b = trainer.validate();
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.tokens, 96);
  EXPECT_TRUE(trainer.model().is_training());

  // Directly, over an even spread of windows.
  double total = 0;
  torch::NoGradGuard no_grad;
  trainer.model().eval();
  for (int64_t block = 0; block < 4; ++block) {
    at::Tensor window = torch::empty({1, 25}, torch::kLong);
    valid.copy_to(window.mutable_data_ptr<int64_t>(), block * ((200 - 25) / 3), 25);
    total += trainer.model().nll(window).to(torch::kDouble).sum().item<double>();
  }
  EXPECT_NEAR(a.loss, total / 96, testing::sum_bound<double>(96) * total);

  const TokenFile tiny = tokens("tiny", 10, 2);
  Trainer short_trainer(make_model(config(), 3), train, &tiny, small_options(4));
  EXPECT_EQ(short_trainer.validate().tokens, 9);
}

}  // namespace
}  // namespace longspan::train
