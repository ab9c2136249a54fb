// Stopped and resumed runs, over what rows hold.
#include <gtest/gtest.h>

#include "tests/models/small_models.h"
#include "tests/train/document_files.h"
#include "tests/train/small_runs.h"

namespace longspan::train {
namespace {

struct Case {
  const char* name;
  const char* attention;
  Sequences sequences;
  bool reset;
  Autocast autocast;
};

class Resume : public DocumentFiles, public ::testing::WithParamInterface<Case> {
 protected:
  static constexpr int64_t kTokens = 300;

  TrainOptions options() const {
    TrainOptions out = small_options(9);
    out.batch = 4;
    out.accumulation = 2;
    out.sequences = GetParam().sequences;
    out.reset_at_documents = GetParam().reset;
    out.autocast = GetParam().autocast;
    out.recompute = Recompute::blocks;
    return out;
  }

  std::shared_ptr<models::LanguageModel> model(int64_t seed) const {
    models::ModelConfig config = models::small_config(GetParam().attention);
    config.dropout = 0.1;
    if (config.attention == "lavo") config.attention_options["dropout"] = 0.1;
    return make_model(config, seed);
  }
};

// The parts of 74 tokens wrap after three steps; the stop at step 5 lies within the second round.
TEST_P(Resume, GoesOnWithTheSameBits) {
  const TokenFile train = tokens("train", kTokens);
  const DocumentIndex index = documents("documents", {0, 9, 40, 41, 100, 151, 260}, kTokens);
  const TrainData data{.train = &train, .train_documents = &index};
  const Letters letters;
  Trainer whole(model(3), data, options());
  std::vector<StepResult> expected;
  while (!whole.done()) expected.push_back(whole.step());

  {
    Trainer first(model(3), data, options());
    for (int i = 0; i < 5; ++i) first.step();
    first.save(path("checkpoint"), letters);
  }
  Trainer resumed(model(99), data, options());
  EXPECT_TRUE(resumed.resume(path("checkpoint")).empty());
  torch::rand({3});
  for (std::size_t i = 5; i < expected.size(); ++i) {
    const StepResult step = resumed.step();
    EXPECT_EQ(step.step, expected[i].step);
    EXPECT_EQ(step.loss, expected[i].loss) << "step " << step.step;
    EXPECT_EQ(step.grad_norm, expected[i].grad_norm) << "step " << step.step;
  }
  EXPECT_EQ(resumed.model().identity(), whole.model().identity());
}

INSTANTIATE_TEST_SUITE_P(Sequences, Resume,
                         ::testing::Values(Case{"windows", "lavo", Sequences::windows, false, Autocast::bf16},
                                           Case{"documents", "lavo", Sequences::documents, false, Autocast::none},
                                           Case{"carried", "lavo", Sequences::carried, false, Autocast::none},
                                           Case{"carried_bfloat16", "local", Sequences::carried, false, Autocast::bf16},
                                           Case{"carried_cache", "softmax", Sequences::carried, false, Autocast::none},
                                           Case{"carried_with_borders", "softmax", Sequences::carried, true,
                                                Autocast::none}),
                         [](const auto& info) { return std::string(info.param.name); });

class ResumeCarried : public TokenFiles {
 protected:
  TrainOptions options(int64_t batch) const {
    TrainOptions out = small_options(4);
    out.batch = batch;
    out.sequences = Sequences::carried;
    return out;
  }
};

TEST_F(ResumeCarried, StatesOfOtherRowsAreRefused) {
  const TokenFile train = tokens("train", 300);
  const Letters letters;
  const auto config = models::small_config("lavo");
  Trainer trainer(make_model(config, 3), {.train = &train}, options(2));
  trainer.step();
  trainer.save(path("checkpoint"), letters);
  Trainer more(make_model(config, 3), {.train = &train}, options(4));
  EXPECT_NE(error_of([&] { more.resume(path("checkpoint")); }).find("is of 2 rows, but batch is 4"), std::string::npos);
  EXPECT_EQ(more.steps_done(), 0);
  // A run on windows has no use for them.
  Trainer windows(make_model(config, 3), train, nullptr, small_options(4));
  const auto warnings = windows.resume(path("checkpoint"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("sequences \"carried\" -> \"windows\""), std::string::npos) << warnings[0];
  TrainOptions other_batch = small_options(4);
  other_batch.batch = 3;
  Trainer wider(make_model(config, 3), train, nullptr, other_batch);
  wider.resume(path("checkpoint"));
  EXPECT_EQ(wider.steps_done(), 1);
}

}  // namespace
}  // namespace longspan::train
