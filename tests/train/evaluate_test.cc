#include "longspan/train/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/small_models.h"
#include "tests/train/token_files.h"

namespace longspan::train {
namespace {

using models::small_config;
using models::small_model;

/// Bits per token of the block at `offset`, from one forward pass over everything the model may read.
double directly(models::LanguageModel& model, const TokenFile& tokens, int64_t offset, int64_t length) {
  torch::NoGradGuard no_grad;
  at::Tensor window = torch::empty({1, length + 1}, torch::kLong);
  tokens.copy_to(window.mutable_data_ptr<int64_t>(), offset + 1024 - length, length + 1);
  const at::Tensor logits = model.logits(model.hidden(window.narrow(1, 0, length)))[0].narrow(0, length - 1024, 1024);
  const at::Tensor targets = window[0].narrow(0, length + 1 - 1024, 1024);
  return -torch::log_softmax(logits, -1).gather(1, targets.unsqueeze(1)).mean().item<double>() / std::log(2.0);
}

class Evaluate : public TokenFiles, public ::testing::WithParamInterface<std::string> {};

TEST_P(Evaluate, EqualsTheDirectComputation) {
  const auto model = small_model(small_config(GetParam()));
  const TokenFile data = tokens("data", 9000);
  EvaluateOptions options;
  options.blocks = 3;
  options.first_target = 3000;
  options.piece = 1024;
  ContextEvaluation evaluation(*model, data, 2500, options);
  ASSERT_EQ(evaluation.target_offsets(), (std::vector<int64_t>{3000, 5487, 7975}));
  for (int64_t length : {1024, 1500, 2500}) {
    const ContextResult result = evaluation.run(length);
    EXPECT_EQ(result.length, length);
    EXPECT_EQ(result.blocks, 3);
    EXPECT_EQ(result.tokens, 3 * 1024);
    double mean = 0;
    for (std::size_t block = 0; block < 3; ++block) {
      const double expected = directly(*model, data, evaluation.target_offsets()[block], length);
      // Losses are sums over the hidden state's rounding, float64.
      EXPECT_NEAR(result.block_bits[block], expected, 1e2 * models::hidden_bound(model->config(), length, 1));
      mean += expected / 3;
    }
    EXPECT_NEAR(result.bits_per_byte, mean, 1e2 * models::hidden_bound(model->config(), length, 1));
  }
}

TEST_P(Evaluate, FewerBlocksAreChosenAmongTheSame) {
  const auto model = small_model(small_config(GetParam()));
  const TokenFile data = tokens("data", 9000);
  EvaluateOptions options;
  options.first_target = 1000;
  ContextEvaluation evaluation(*model, data, 1024, options);
  EXPECT_EQ(evaluation.target_offsets().size(), 7u) << "without overlap";
  const ContextResult all = evaluation.run(1024), two = evaluation.run(1024, 2);
  EXPECT_EQ(two.block_offsets, (std::vector<int64_t>{all.block_offsets.front(), all.block_offsets.back()}));
  EXPECT_NEAR(two.block_bits[1], all.block_bits[6], 1e2 * models::hidden_bound(model->config(), 1024, 1));
  EXPECT_EQ(two.blocks, 2);
}

INSTANTIATE_TEST_SUITE_P(Attentions, Evaluate, ::testing::Values("lavo", "softmax"));

class EvaluateEdges : public TokenFiles {};

TEST_F(EvaluateEdges, AblationIsUndone) {
  const auto model = small_model(small_config());
  const TokenFile data = tokens("data", 6000);
  EvaluateOptions options;
  options.blocks = 3;
  const double plain = ContextEvaluation(*model, data, 1024, options).run(1024).bits_per_byte;
  for (const char* way : {"zero", "mean", "swap"}) {
    options.ablate_part = "memory";
    options.ablate_way = way;
    ContextEvaluation changed(*model, data, 2048, options);
    EXPECT_NE(changed.run(1024).bits_per_byte, plain) << way;
    EXPECT_EQ(changed.run(2048).blocks, 3) << way;
  }
  options.ablate_part = options.ablate_way = "";
  EXPECT_EQ(ContextEvaluation(*model, data, 1024, options).run(1024).bits_per_byte, plain);
}

TEST_F(EvaluateEdges, LengthsThatDoNotFitNameBothNumbers) {
  const auto model = small_model(small_config());
  const TokenFile data = tokens("data", 3000);
  EXPECT_EQ(error_of([&] { ContextEvaluation(*model, data, 3000); }),
            "evaluate: length 3000 needs 3001 tokens, but " + path("data") + " has 3000");
  EXPECT_EQ(error_of([&] { ContextEvaluation(*model, data, 1000); }),
            "evaluate: a length must be at least 1024, got 1000");
  ContextEvaluation exact(*model, data, 2999);
  EXPECT_EQ(exact.target_offsets(), std::vector<int64_t>{1975});
  EXPECT_NE(error_of([&] { exact.run(3000); }), "");
}

TEST_F(EvaluateEdges, BytesPerTokenDivideTheBits) {
  const auto model = small_model(small_config());
  const TokenFile data = tokens("data", 3000);
  const double one = ContextEvaluation(*model, data, 1024).run(1024).bits_per_byte;
  EXPECT_DOUBLE_EQ(ContextEvaluation(*model, data, 1024, {}, 4).run(1024).bits_per_byte, one / 4);
}

}  // namespace
}  // namespace longspan::train
