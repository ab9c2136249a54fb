// What a run leaves of a step in which numbers stop being finite.
#include "longspan/train/nonfinite.h"

#include "longspan/data/window_sampler.h"
#include "longspan/models/model_files.h"
#include "longspan/text/byte_tokenizer.h"
#include "longspan/train/checkpoint.h"
#include "tests/train/small_runs.h"
#include "tests/train/token_files.h"

namespace longspan::train {
namespace {

namespace fs = std::filesystem;

class NonFinite : public TokenFiles {
 protected:
  TokenFile train_ = tokens("train", 3000, 1, 256);
  ByteTokenizer bytes_;

  /// A run whose third step meets `weight[0] = value`.
  struct Spoiled : Log {
    void on_step(const StepResult& result) override {
      Log::on_step(result);
      if (result.step != 2) return;
      torch::NoGradGuard no_grad;
      trainer->model().weights().at(weight).flatten()[0] = value;
      identity = trainer->model().identity();
    }
    Trainer* trainer = nullptr;
    std::string weight, identity;
    double value = NAN;
  };
  std::string run(const std::string& folder, const std::string& weight, double value, std::string* identity = nullptr) {
    TrainOptions options = small_options(5);
    options.checkpoint_every = 1;
    Trainer trainer(make_model(byte_config(0.1), 3), train_, nullptr, options);
    Spoiled log;
    log.trainer = &trainer;
    log.weight = weight;
    log.value = value;
    const std::string said = error_of<NonFiniteError>(
        [&] { trainer.run(log, folder, &bytes_, parse_json(R"({"data": {"folder": "corpus"}})", "test")); });
    EXPECT_EQ(trainer.steps_done(), 2);
    EXPECT_EQ(log.checkpoints, (std::vector<int64_t>{1, 2}));
    if (identity) *identity = log.identity;
    return said;
  }
};

TEST_F(NonFinite, LeavesWhatRepeatsTheStep) {
  std::string identity;
  const std::string place = path("run/nonfinite"), weight = "blocks.1.feed_forward.up.bias";
  const std::string said = run(path("run"), weight, NAN, &identity);
  EXPECT_TRUE(said.starts_with("train: the loss is not finite at step 3 (" + weight +
                               " is not finite before the step; first in the forward pass at aten::"))
      << said;
  EXPECT_TRUE(said.ends_with(" near blocks.1.feed_forward.up); the state before it lies in " + place)) << said;
  const Json report = load_json(place + "/nonfinite.json");
  EXPECT_EQ(report["step"], 3);
  EXPECT_EQ(report["origin"]["weights"], Json::array({weight}));
  EXPECT_EQ(report["origin"]["module"], "blocks.1.feed_forward.up");
  EXPECT_EQ(report["origin"]["pass"], "forward");
  EXPECT_TRUE(report["repeat"].get<std::string>().starts_with("longspan train corpus --out " + place + " --resume"));

  // Weights before the step, its tokens, the generator: the step again, from the files alone.
  EXPECT_EQ(models::load_model(place).model->identity(), identity);
  const SafetensorsFile batch(place + "/batch.safetensors");
  at::Tensor expected = torch::empty({2, 25}, torch::kLong);
  WindowSampler(train_, 24, 0).fill(expected.mutable_data_ptr<int64_t>(), 2, 2);
  EXPECT_TRUE(models::read_tensor(batch, "batch.0").equal(expected));
  Trainer again(make_model(models::load_model(place).model->config(), 99), train_, nullptr, small_options(5));
  again.resume(place);
  EXPECT_EQ(again.steps_done(), 2);
  EXPECT_EQ(error_of<NonFiniteError>([&] { again.step(); }), "train: the loss is not finite at step 3");

  // The last good checkpoint is the run's.
  EXPECT_EQ(checkpoint_info(path("run/checkpoints/step-000002")).step, 2);
  EXPECT_TRUE(is_resumable(path("run")));
  EXPECT_NE(run(path("run"), weight, NAN), "") << "what an earlier failure left gives way";
}

TEST_F(NonFinite, NamesWhereAnOverflowBegins) {
  // Finite weights: the product of the head is the first to leave float32.
  const std::string said = run(path("run"), "norm.weight", 3e38);
  EXPECT_NE(said.find("first in the forward pass at "), std::string::npos) << said;
  EXPECT_EQ(load_json(path("run/nonfinite/nonfinite.json"))["origin"]["weights"], Json::array());
}

TEST_F(NonFinite, AFailureThatDoesNotRepeatIsOfItsStep) {
  TrainOptions options = small_options(5);
  Trainer trainer(make_model(byte_config(), 3), train_, nullptr, options);
  int calls = 0;
  // The gradient of the third step alone; its repetition is the fourth call.
  trainer.model().weights().at("norm.weight").register_hook([&](const at::Tensor& gradient) {
    return ++calls == 3 ? gradient * NAN : gradient;
  });
  Log log;
  const std::string said = error_of<NonFiniteError>([&] { trainer.run(log, path("run"), &bytes_); });
  EXPECT_TRUE(said.starts_with("train: the gradient is not finite at step 3")) << said;
  EXPECT_EQ(calls, 4);
  const Json report = load_json(path("run/nonfinite/nonfinite.json"));
  EXPECT_EQ(report["step"], 3);
  EXPECT_EQ(report["learning_rate"], learning_rate(options, 3));
  EXPECT_EQ(SafetensorsFile(path("run/nonfinite/batch.safetensors")).metadata("step"), "3");
  EXPECT_EQ(checkpoint_info(path("run/nonfinite")).step, 2);
}

TEST_F(NonFinite, AnOperatorIsFoundInTheBackwardPassToo) {
  const at::Tensor weight = torch::ones({3}, at::requires_grad());
  const NonFiniteOrigin origin = find_nonfinite({{"a.b.weight", weight}}, [&] {
    const at::Tensor y = torch::sqrt(weight * 0);  // 0, with an infinite slope
    y.sum().backward();
  });
  EXPECT_TRUE(origin.weights.empty());
  EXPECT_TRUE(origin.backward);
  EXPECT_EQ(origin.op, "aten::div");
  EXPECT_EQ(origin.module, "a.b");
}

TEST_F(NonFinite, FreshMemoryIsNoResult) {
  const NonFiniteOrigin origin = find_nonfinite({}, [&] {
    at::Tensor fresh = torch::empty({64});
    fresh.fill_(1);
    at::Tensor filled = torch::empty({64});
    std::fill_n(filled.mutable_data_ptr<float>(), 64, NAN);  // as what lay there before
    at::Tensor part = filled.narrow(0, 0, 32);
    at::add_out(part, fresh.narrow(0, 0, 32), 1);
  });
  EXPECT_EQ(origin.op, "");
  EXPECT_EQ(to_text(origin), "");
}

TEST_F(NonFinite, OtherErrorsPassThrough) {
  EXPECT_EQ(error_of([&] { find_nonfinite({}, [] { throw InputError("mine"); }); }), "mine");
}

}  // namespace
}  // namespace longspan::train
