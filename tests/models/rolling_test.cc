// Rolling whole models: what moves, what is read where, and when nothing may change.
#include "longspan/models/rolling.h"

#include <gtest/gtest.h>

#include "longspan/nn/packing.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_encoders.h"

namespace longspan::models {
namespace {

using nn::PatternRoll;

std::shared_ptr<EncoderModel> small_classifier(EncoderConfig config) {
  torch::manual_seed(7);
  auto model = std::make_shared<EncoderModel>(std::move(config),
                                              HeadConfig{.kind = HeadKind::classification, .labels = {"a", "b"}});
  torch::NoGradGuard no_grad;
  for (auto& parameter : model->parameters()) parameter.add_(torch::randn_like(parameter) * 0.2);
  model->to(torch::kDouble);
  model->eval();
  return model;
}

EncoderConfig config_of(const std::string& attention, Positions positions) {
  EncoderConfig config = small_encoder_config(attention);
  if (attention == "diffuser")
    config.attention_options = {{"pattern", "window_overlap+global+random"},
                                {"w", int64_t{4}},
                                {"g", int64_t{2}},
                                {"r", int64_t{2}},
                                {"seed_per_layer", true}};
  config.positions = positions;
  return config;
}

SequencePack pack_of(const std::vector<int64_t>& lengths) {
  int64_t rows = 0;
  for (const int64_t length : lengths) rows += length;
  return {random_tokens(1, rows), nn::cu_from_lengths(lengths)};
}

double bound(const EncoderModel& model, const at::Tensor& values) {
  const EncoderConfig& config = model.encoder_config();
  const int64_t terms = config.layers * (4 * config.width + 2 * config.feed_forward + 12 * 40);
  return testing::sum_bound<double>(terms) * (1 + values.abs().max().item<double>());
}

at::Tensor numbers(const std::vector<int64_t>& values) { return nn::index_tensor(values).unsqueeze(0); }

TEST(RolledPacks, MoveEachSequenceRoundItself) {
  const SequencePack pack{numbers({1, 2, 3, 4, 5, 6, 7}), nn::cu_from_lengths({5, 2})};
  RollingOptions options;
  options.rolling.shift = 3;
  const RolledPack own = rolled(pack, options);
  EXPECT_TRUE(own.pack.tokens.equal(numbers({3, 4, 5, 1, 2, 7, 6})));
  EXPECT_TRUE(own.pack.tokens.index_select(1, own.place).equal(pack.tokens));
  EXPECT_FALSE(own.pack.positions) << "ranks are the slots";
  options.positions = RolledPositions::token;
  EXPECT_TRUE(rolled(pack, options).pack.positions->equal(numbers({2, 3, 4, 0, 1, 1, 0})));
  // Six slots: the first sequence goes over the end, the second does not.
  options.rolling.slots = 6;
  EXPECT_TRUE(rolled(pack, options).pack.tokens.equal(numbers({4, 5, 1, 2, 3, 6, 7})));
  options.positions = RolledPositions::slot;
  EXPECT_TRUE(rolled(pack, options).pack.positions->equal(numbers({0, 1, 3, 4, 5, 3, 4})));
}

// A padded row of tokens and its mask, rolled as tensors are.
TEST(RolledModels, SlotsArePaddedRows) {
  const auto model = small_classifier(config_of("diffuser", Positions::learned));
  const SequencePack pack = pack_of({13});
  for (const int64_t shift : {0, 2, 5, 11}) {
    const at::Tensor tokens = torch::constant_pad_nd(pack.tokens, {0, 5}).roll(shift, 1),
                     valid = (torch::arange(18) < 13).unsqueeze(0).roll(shift, 1);
    const at::Tensor padded = model->encoder()
                                  .forward(tokens, {.valid = valid}, torch::arange(18).unsqueeze(0))
                                  .roll(-shift, 1)
                                  .narrow(1, 0, 13);
    RollingOptions options;
    options.rolling = {.shift = shift, .slots = 18};
    EXPECT_CLOSE(rolled_hidden(*model, pack, options).hidden, padded, bound(*model, padded));
  }
}

TEST(RolledModels, NothingChangesWhereAllGoesAlong) {
  for (const Positions positions : {Positions::learned, Positions::sinusoidal}) {
    const auto model = small_classifier(config_of("diffuser", positions));
    SequencePack pack = pack_of({13, 1, 22});
    RollingOptions options;
    options.positions = RolledPositions::token;
    options.pattern = PatternRoll::all;
    for (const bool given : {false, true}) {
      if (given) pack.global_tokens = torch::arange(36).remainder(9).eq(4).unsqueeze(0);
      const at::Tensor plain = model->hidden(pack);
      for (const int64_t shift : {0, 1, 7, 12}) {
        options.rolling.shift = shift;
        EXPECT_CLOSE(rolled_hidden(*model, pack, options).hidden, plain, bound(*model, plain));
      }
      for (const PatternRoll fixed : {PatternRoll::none, PatternRoll::global_tokens}) {
        RollingOptions other = options;
        other.pattern = fixed;
        EXPECT_GT((rolled_hidden(*model, pack, other).hidden - plain).abs().max().item<double>(), 1e-3);
      }
      EXPECT_TRUE(model->hidden(pack).equal(plain)) << "the model is as it was";
    }
  }
}

TEST(RolledModels, PositionsAreWhatFullAttentionSees) {
  const SequencePack pack = pack_of({13, 22});
  RollingOptions options;
  options.rolling.shift = 5;
  const auto change = [&](Positions positions) {
    const auto model = small_classifier(config_of("softmax", positions));
    const at::Tensor plain = model->hidden(pack);
    const double change = (rolled_hidden(*model, pack, options).hidden - plain).abs().max().item<double>();
    return change > bound(*model, plain);
  };
  EXPECT_FALSE(change(Positions::none));
  EXPECT_TRUE(change(Positions::learned));
  EXPECT_TRUE(change(Positions::rotary));
  options.positions = RolledPositions::token;
  EXPECT_FALSE(change(Positions::learned));
}

TEST(RolledModels, HeadsReadTheTokenOrTheSlot) {
  const auto model = small_classifier(config_of("diffuser", Positions::learned));
  const SequencePack pack = pack_of({13, 22});
  RollingOptions options;
  options.rolling.shift = 5;
  const at::Tensor states = model->hidden(rolled(pack, options).pack);
  const RolledHidden at_token = rolled_hidden(*model, pack, options);
  EXPECT_TRUE(at_token.for_head.equal(at_token.hidden));
  EXPECT_TRUE(at_token.hidden[0][0].equal(states[0][5]));
  EXPECT_TRUE(at_token.hidden[0][13].equal(states[0][18]));
  options.feature = RolledFeature::slot;
  const RolledHidden at_slot = rolled_hidden(*model, pack, options);
  EXPECT_TRUE(at_slot.hidden.equal(at_token.hidden));
  EXPECT_TRUE(
      model->label_logits(at_slot.for_head, pack.cu_seqlens).equal(model->label_logits(states, pack.cu_seqlens)));
  EXPECT_TRUE(at_slot.for_head.narrow(1, 1, 12).equal(at_token.hidden.narrow(1, 1, 12)));
}

TEST(RolledModels, RefuseWhatTheyCannotDo) {
  const auto error = [](const std::string& attention, Positions positions, const RollingOptions& options) {
    const auto model = small_classifier(config_of(attention, positions));
    return error_of([&] { rolled_hidden(*model, pack_of({13}), options); });
  };
  RollingOptions options;
  options.positions = RolledPositions::token;
  EXPECT_EQ(error("softmax", Positions::rotary, options),
            "rolling: rotary positions are counted by the attention, so that tokens can neither carry theirs nor stand "
            "among padding");
  options.rolling.slots = 65;
  EXPECT_EQ(error("softmax", Positions::learned, options), "rolling: the model has learnt 64 positions, got 65 slots");
  options.rolling.slots = 12;
  EXPECT_EQ(error("softmax", Positions::learned, options), "rolling: a sequence has 13 tokens, but there are 12 slots");
  options = {};
  options.pattern = PatternRoll::all;
  EXPECT_EQ(error("softmax", Positions::learned, options),
            "rolling: the attention softmax has no pattern that could be rolled too");
  const auto encoder = small_encoder(small_encoder_config());
  EXPECT_EQ(error_of([&] {
              encoder->forward(random_tokens(1, 3), {}, numbers({0, 1}));
            }),
            "encoder: positions must be int64 [1, 3], got Long [1, 2]");
  EXPECT_EQ(error_of([&] {
              encoder->forward(random_tokens(1, 2), {}, numbers({0, -1}));
            }),
            "encoder: positions must be at least 0, got -1");
}

}  // namespace
}  // namespace longspan::models
