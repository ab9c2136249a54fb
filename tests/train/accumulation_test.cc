// A step worked off in parts is the step worked off at once, whatever its rows hold, with dropout on.
#include <gtest/gtest.h>

#include "longspan/train/train.h"
#include "tests/models/small_models.h"
#include "tests/train/document_files.h"

namespace longspan::train {
namespace {

struct Case {
  const char* name;
  Sequences sequences;
  bool reset;
};

class Accumulation : public DocumentFiles, public ::testing::WithParamInterface<Case> {
 protected:
  static constexpr int64_t kTokens = 400, kBatch = 4, kLength = 11, kSteps = 4;

  struct Result {
    std::vector<StepResult> steps;
    models::NamedTensors weights;
  };

  Result run(int64_t accumulation) const {
    const TokenFile train = tokens("train", kTokens);
    const DocumentIndex index = documents("documents", {0, 7, 30, 31, 90, 200, 333}, kTokens);
    models::ModelConfig config = models::small_config("lavo");
    config.dropout = 0.2;
    torch::manual_seed(4);
    const auto model = std::make_shared<models::LanguageModel>(config);
    model->to(torch::kDouble);
    TrainOptions options;
    options.steps = kSteps;
    options.batch = kBatch;
    options.length = kLength;
    options.accumulation = accumulation;
    options.sequences = GetParam().sequences;
    options.reset_at_documents = GetParam().reset;
    options.autocast = Autocast::none;
    options.clip = 0;
    options.warmup = 0;
    options.epsilon = 1;  // the update is then no steeper in the gradient than learning_rate
    Trainer trainer(model, {.train = &train, .train_documents = &index}, options);
    Result out;
    for (int64_t step = 0; step < kSteps; ++step) out.steps.push_back(trainer.step());
    for (const auto& [name, weight] : model->weights()) out.weights[name] = weight.detach().clone();
    return out;
  }
};

TEST_P(Accumulation, PartsGiveWhatTheWholeGives) {
  const Result whole = run(1);
  for (const int64_t accumulation : {2, 4}) {
    const Result parts = run(accumulation);
    // A gradient sums over all targets what every layer has summed over its widths.
    const models::ModelConfig config = models::small_config("lavo");
    const double rounding =
        testing::sum_bound<double>(kBatch * kLength * 2 * config.layers * (4 * config.width + 2 * config.feed_forward));
    for (int64_t i = 0; i < kSteps; ++i) {
      const StepResult &a = whole.steps[static_cast<std::size_t>(i)], &b = parts.steps[static_cast<std::size_t>(i)];
      EXPECT_EQ(a.tokens, b.tokens);
      EXPECT_NEAR(a.loss, b.loss, rounding * 10) << "step " << a.step;
      EXPECT_NEAR(a.grad_norm, b.grad_norm, rounding * 10 * (1 + a.grad_norm)) << "step " << a.step;
    }
    for (const auto& [name, weight] : whole.weights) {
      SCOPED_TRACE(name);
      EXPECT_CLOSE(parts.weights.at(name), weight, rounding * 10 * (1 + weight.abs().max().item<double>()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sequences, Accumulation,
                         ::testing::Values(Case{"windows", Sequences::windows, false},
                                           Case{"documents", Sequences::documents, false},
                                           Case{"carried", Sequences::carried, false},
                                           Case{"carried_with_borders", Sequences::carried, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(DocumentFiles, ABatchThatCannotBeDividedIsRefused) {
  const TokenFile train = tokens("train", 100);
  TrainOptions options;
  options.length = 8;
  options.batch = 6;
  options.accumulation = 4;
  EXPECT_EQ(error_of([&] { Trainer(make_model(models::small_config("lavo"), 1), train, nullptr, options); }),
            "train: batch must be a multiple of accumulation times the number of processes, got batch 6, accumulation "
            "4 and 1 process");
}

}  // namespace
}  // namespace longspan::train
