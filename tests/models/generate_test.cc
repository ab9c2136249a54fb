#include "longspan/models/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

const std::vector<int64_t> kPrompt = {3, 1, 4, 1, 5};

TEST(Generate, GreedyTakesTheMostLikelyAtEveryStep) {
  const auto model = small_model(small_config());
  GenerateOptions options;
  options.temperature = 0;
  options.tokens = 12;
  const auto drawn = generate(*model, kPrompt, options);
  ASSERT_EQ(drawn.size(), 12u);
  std::vector<int64_t> text = kPrompt;
  for (int64_t token : drawn) {
    const at::Tensor hidden = model->hidden(torch::tensor(text, torch::kLong).unsqueeze(0));
    EXPECT_EQ(token, model->logits(hidden)[0][hidden.size(1) - 1].argmax().item<int64_t>());
    text.push_back(token);
  }
}

TEST(Generate, SeedsDecide) {
  const auto model = small_model(small_config());
  GenerateOptions options;
  options.tokens = 40;
  options.seed = 5;
  const auto first = generate(*model, kPrompt, options);
  EXPECT_EQ(generate(*model, kPrompt, options), first);
  options.seed = 6;
  EXPECT_NE(generate(*model, kPrompt, options), first);
}

TEST(Generate, CallbackSeesEveryTokenAndCanStop) {
  const auto model = small_model(small_config());
  GenerateOptions options;
  options.tokens = 40;
  std::vector<int64_t> seen;
  const auto drawn = generate(*model, kPrompt, options, [&](int64_t token) {
    seen.push_back(token);
    return seen.size() < 7;
  });
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(drawn, seen);
  options.tokens = 0;
  EXPECT_TRUE(generate(*model, kPrompt, options).empty());
}

TEST(Generate, WrongInputIsRefused) {
  const auto model = small_model(small_config());
  EXPECT_EQ(error_of([&] { generate(*model, {}, {}); }), "generate: the prompt must have at least one token");
  GenerateOptions options;
  options.top_p = 1.5;
  EXPECT_EQ(error_of([&] { generate(*model, kPrompt, options); }),
            "generate: top_p must be a number from 0 to 1, got 1.5");
}

TEST(Sample, FollowsTheProbabilities) {
  // Probabilities 0.5, 0.25, 0.125, 0.125 in an order that is not sorted.
  const at::Tensor logits = torch::tensor({0.125, 0.5, 0.125, 0.25}).log();
  const auto shares = [&](const GenerateOptions& options) {
    std::map<int64_t, int> counts;
    for (int i = 0; i < 1000; ++i) ++counts[sample(logits, options, (i + 0.5) / 1000)];
    return counts;
  };
  GenerateOptions options;
  EXPECT_EQ(shares(options), (std::map<int64_t, int>{{0, 125}, {1, 500}, {2, 125}, {3, 250}}));
  options.top_k = 2;
  EXPECT_EQ(shares(options), (std::map<int64_t, int>{{1, 667}, {3, 333}}));
  options.top_k = 0;
  options.top_p = 0.6;  // 0.5 does not reach it, 0.75 does
  EXPECT_EQ(shares(options), (std::map<int64_t, int>{{1, 667}, {3, 333}}));
  options.top_p = 0;
  EXPECT_EQ(shares(options), (std::map<int64_t, int>{{1, 1000}}));
  options = {};
  options.temperature = 0.5;  // squares: 16/22, 4/22, 1/22, 1/22
  const auto sharp = shares(options);
  EXPECT_EQ(sharp.at(1), 727);
  options.temperature = 0;
  EXPECT_EQ(sample(torch::tensor({1.0, 2.0, 2.0}), options, 0.99), 1) << "the lowest id among equals";
}

TEST(Sample, LogitsThatAreNotFiniteAreAnError) {
  EXPECT_EQ(error_of<RunError>([] { sample(torch::tensor({0.0, std::nan("")}), {}, 0.5); }), "sample: a logit is not finite");
}

}  // namespace
}  // namespace longspan::models
