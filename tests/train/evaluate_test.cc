#include "longspan/train/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "longspan/train/evaluation_mode.h"
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

/// How far two ways to bits per token may be apart in float64. A logit adds E products of a hidden state, itself off by
/// hidden_bound, and a row of the head. The loss is the logarithm of a sum of V exponentials less one logit: what is
/// off in all logits comes through at most twice, and the two sums (V, then 1,024 losses) add their own rounding.
double bits_bound(const models::LanguageModel& model, int64_t length) {
  const models::NamedTensors weights = model.weights();
  const auto largest = [](const at::Tensor& t) { return t.abs().max().item<double>(); };
  const auto& config = model.config();
  const double width = static_cast<double>(config.width);
  // What a norm puts out, before its weight and bias, has the length sqrt(E).
  const double hidden = std::sqrt(width) * largest(weights.at("norm.weight")) + largest(weights.at("norm.bias"));
  const double row = largest(weights.at("embedding").abs().sum(1));
  const double logit = row * hidden;
  const double logit_error =
      row * models::hidden_bound(config, length, hidden) + testing::sum_bound<double>(config.width) * logit;
  const double loss = 2 * logit + std::log(static_cast<double>(config.vocabulary));
  const double loss_error = 2 * logit_error + testing::sum_bound<double>(config.vocabulary + 1024) * loss;
  return 2 * loss_error / std::log(2.0);  // either way has it
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
      EXPECT_NEAR(result.block_bits[block], expected, bits_bound(*model, length));
      mean += expected / 3;
    }
    EXPECT_NEAR(result.bits_per_byte, mean, bits_bound(*model, length));
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
  EXPECT_NEAR(two.block_bits[1], all.block_bits[6], bits_bound(*model, 1024));
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

TEST_F(EvaluateEdges, ALossThatIsNotFiniteIsNoResult) {
  const auto model = small_model(small_config());
  const TokenFile data = tokens("data", 3000);
  ContextEvaluation evaluation(*model, data, 1024);
  {
    torch::NoGradGuard no_grad;
    model->named_parameters()["blocks.0.feed_forward.up.bias"][0] = NAN;
  }
  EXPECT_EQ(error_of<RunError>([&] { evaluation.run(1024); }),
            str_cat("evaluate: the loss is not finite on the block at ", evaluation.target_offsets().front(),
                    " with length 1024"));
}

TEST_F(EvaluateEdges, EveryModuleIsInItsOwnModeAfterwards) {
  const auto model = small_model(small_config());
  model->train();
  const auto parts = model->modules();
  parts[2]->eval();  // one inside, with its parts
  std::vector<bool> before;
  for (const auto& part : parts) before.push_back(part->is_training());
  {
    EvaluationMode evaluation(*model);
    for (const auto& part : parts) EXPECT_FALSE(part->is_training()) << part->name();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i]->is_training(), before[i]) << parts[i]->name();
}

TEST_F(EvaluateEdges, BytesOfTheSourceDivideTheBits) {
  const auto model = small_model(small_config());
  const TokenFile data = tokens("data", 4000);
  const ContextResult plain = ContextEvaluation(*model, data, 1024).run(1024);
  ASSERT_GE(plain.blocks, 2);
  // The later a token the longer its text: blocks weigh by their bytes, not alike.
  double bits = 0, bytes = 0;
  for (int64_t i = 0; i < plain.blocks; ++i) {
    const auto block = static_cast<std::size_t>(i);
    bits += plain.block_bits[block] * kTargetBlock;
    bytes += static_cast<double>((plain.block_offsets[block] + 1) * kTargetBlock);
  }
  const ContextResult text =
      ContextEvaluation(*model, data, 1024, {}, [](int64_t first, int64_t count) { return first * count; }).run(1024);
  EXPECT_NEAR(text.bits_per_byte, bits / bytes, testing::sum_bound<double>(plain.blocks + 2) * bits / bytes);
  EXPECT_DOUBLE_EQ(text.block_bits[1], plain.block_bits[1] / static_cast<double>(plain.block_offsets[1] + 1));
}

}  // namespace
}  // namespace longspan::train
