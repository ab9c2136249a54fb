#include "longspan/train/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "longspan/base/usable_memory.h"
#include "longspan/models/language_model.h"
#include "longspan/train/tensor_memory.h"
#include "tests/models/small_models.h"

namespace longspan::train {
namespace {

constexpr int64_t kTokens = 4096;

models::ModelConfig config(int64_t layers, models::Shape shape = models::Shape::gpt2) {
  models::ModelConfig config = models::small_config("lavo", shape);
  config.layers = layers;
  config.width = 32;
  config.feed_forward = 128;
  return config;
}

/// Most bytes alive in forward and backward of one sequence.
double peak(const models::ModelConfig& config, bool recompute) {
  models::LanguageModel model(config);
  model.recompute_blocks(recompute);
  const at::Tensor tokens = models::random_tokens(1, kTokens + 1);
  const auto pass = [&] { model.nll(tokens).sum().backward(); };
  pass();  // gradients of the weights are there from now on
  const TensorMemory memory;
  pass();
  return static_cast<double>(memory.peak());
}

TEST(Memory, ALayerThatIsRecomputedKeepsItsInputAlone) {
  const double row = 4.0 * kTokens * 32;
  for (const models::Shape shape : {models::Shape::gpt2, models::Shape::llama}) {
    const double kept = (peak(config(6, shape), false) - peak(config(2, shape), false)) / 4;
    const double recomputed = (peak(config(6, shape), true) - peak(config(2, shape), true)) / 4;
    EXPECT_GT(kept, 10 * row);
    EXPECT_LT(recomputed, 1.25 * row) << "[N, E] and what is small";
  }
}

TEST(Memory, TheEstimateIsThatOfALayer) {
  for (const models::Shape shape : {models::Shape::gpt2, models::Shape::llama}) {
    const double measured = (peak(config(6, shape), false) - peak(config(2, shape), false)) / 4;
    const double estimate =
        (activation_bytes(config(6, shape), kTokens, false) - activation_bytes(config(2, shape), kTokens, false)) / 4;
    EXPECT_GT(estimate, 0.75 * measured);
    EXPECT_LT(estimate, 1.33 * measured);
  }
}

TEST(Memory, RecomputesWhereEverythingIsTooMuch) {
  EXPECT_GT(usable_memory(), int64_t{1} << 28);
  EXPECT_FALSE(recomputes(Recompute::automatic, config(2), 1024));
  EXPECT_TRUE(recomputes(Recompute::automatic, config(1024), int64_t{1} << 30));
  EXPECT_TRUE(recomputes(Recompute::blocks, config(2), 1));
  EXPECT_FALSE(recomputes(Recompute::none, config(1024), int64_t{1} << 30));
}

TEST(Memory, AModelWithoutRoomIsRefusedBeforeItIsMade) {
  models::ModelConfig large = config(1024);
  EXPECT_NO_THROW(check_fits(large));
  large.width = 1 << 16;
  try {
    check_fits(large);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    // 1024 layers of 2 E^2 + 2 E F, and the embedding.
    EXPECT_THAT(error.what(), ::testing::StartsWith("train: a model of 1024 layers of width 65536 has at least 88"));
  }
}

}  // namespace
}  // namespace longspan::train
