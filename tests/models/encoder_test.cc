#include "longspan/models/encoder.h"

#include <gtest/gtest.h>

#include "longspan/models/encoder_model.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/registry.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_encoders.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

/// Rounding of a hidden state of an encoder, as hidden_bound() has it.
double bound(const EncoderConfig& config, int64_t length, const at::Tensor& values) {
  const int64_t terms = config.layers * (4 * config.width + 2 * config.feed_forward + 2 * length);
  return testing::sum_bound<double>(terms) * (1 + values.abs().max().item<double>());
}

class Encoders : public ::testing::TestWithParam<std::tuple<std::string, NormPlace, Positions>> {
 protected:
  Encoders() {
    const auto& [attention, norm, positions] = GetParam();
    config_ = small_encoder_config(attention);
    config_.norm = norm;
    config_.positions = positions;
    encoder_ = small_encoder(config_);
  }
  EncoderConfig config_;
  std::shared_ptr<Encoder> encoder_;
};

TEST_P(Encoders, GivesOneStateForEachToken) {
  EXPECT_EQ(encoder_->forward(random_tokens(2, 9)).sizes(), (std::vector<int64_t>{2, 9, 16}));
  EXPECT_EQ(encoder_->forward(random_tokens(2, 0)).sizes(), (std::vector<int64_t>{2, 0, 16}));
  EXPECT_EQ(encoder_->forward(random_tokens(1, 1)).sizes(), (std::vector<int64_t>{1, 1, 16}));
}

TEST_P(Encoders, PaddingDoesNotMatter) {
  const at::Tensor tokens = random_tokens(2, 12);
  at::Tensor valid = torch::ones({2, 12}, torch::kBool);
  valid[0].narrow(0, 7, 5).fill_(false);
  valid[1].narrow(0, 0, 3).fill_(false);  // padding may stand on either side
  const at::Tensor padded = encoder_->forward(tokens, {.valid = valid});
  const at::Tensor first = encoder_->forward(tokens.narrow(0, 0, 1).narrow(1, 0, 7)),
                   second = encoder_->forward(tokens.narrow(0, 1, 1).narrow(1, 3, 9));
  EXPECT_CLOSE(padded[0].narrow(0, 0, 7), first[0], bound(config_, 12, padded));
  EXPECT_CLOSE(padded[1].narrow(0, 3, 9), second[0], bound(config_, 12, padded));

  at::Tensor changed = tokens.masked_fill(valid.logical_not(), 5);
  EXPECT_TRUE(encoder_->forward(changed, {.valid = valid})
                  .masked_select(valid.unsqueeze(-1))
                  .equal(padded.masked_select(valid.unsqueeze(-1))));
}

TEST_P(Encoders, APackIsItsSequences) {
  const at::Tensor tokens = random_tokens(1, 12);
  const at::Tensor cu = nn::cu_from_lengths({5, 1, 6});
  const at::Tensor packed = encoder_->forward(tokens, {.cu_seqlens = cu});
  for (const auto& [begin, size] : {std::pair<int64_t, int64_t>{0, 5}, {5, 1}, {6, 6}})
    EXPECT_CLOSE(packed.narrow(1, begin, size), encoder_->forward(tokens.narrow(1, begin, size)),
                 bound(config_, 12, packed));
}

TEST_P(Encoders, SeesBothSides) {
  const at::Tensor tokens = random_tokens(1, 3);
  at::Tensor changed = tokens.clone();
  changed[0][2] = (changed[0][2] + 1) % 11;
  EXPECT_FALSE(encoder_->forward(tokens)[0][0].equal(encoder_->forward(changed)[0][0]));
}

TEST_P(Encoders, RecomputationHasTheSameBits) {
  encoder_->train();
  const at::Tensor tokens = random_tokens(2, 9);
  std::vector<at::Tensor> gradients[2], outputs;
  for (const bool recompute : {false, true}) {
    encoder_->recompute_blocks(recompute);
    encoder_->zero_grad();
    torch::manual_seed(5);
    outputs.push_back(encoder_->forward(tokens, {.dropout = DropoutKey{3, 0}}));
    outputs.back().square().sum().backward();
    for (const auto& parameter : encoder_->parameters()) gradients[recompute].push_back(parameter.grad().clone());
  }
  EXPECT_TRUE(outputs[0].equal(outputs[1]));
  for (std::size_t i = 0; i < gradients[0].size(); ++i) EXPECT_TRUE(gradients[0][i].equal(gradients[1][i])) << i;
}

std::string name_of(const ::testing::TestParamInfo<Encoders::ParamType>& info) {
  const auto& [attention, norm, positions] = info.param;
  return attention + (norm == NormPlace::pre ? "_pre" : "_post") +
         (positions == Positions::learned ? "_learned" : "_rotary");
}

INSTANTIATE_TEST_SUITE_P(All, Encoders,
                         ::testing::Combine(::testing::Values("softmax", "local", "lavo", "diffuser"),
                                            ::testing::Values(NormPlace::pre, NormPlace::post),
                                            ::testing::Values(Positions::learned, Positions::rotary)),
                         name_of);

TEST(Encoder, HasRobertasShape) {
  EncoderConfig config = small_encoder_config();
  config.position_offset = 2;
  const auto weights = weights_of(*small_encoder(config));
  EXPECT_EQ(weights.at("positions").size(0), config.max_positions + 2);
  EXPECT_TRUE(weights.contains("embedding_norm.weight"));
  EXPECT_FALSE(weights.contains("norm.weight"));
  config.norm = NormPlace::pre;
  const auto pre = weights_of(*small_encoder(config));
  EXPECT_FALSE(pre.contains("embedding_norm.weight"));
  EXPECT_TRUE(pre.contains("norm.weight"));

  const EncoderConfig base = encoder_preset("base");
  EXPECT_EQ(base.layers, 12);
  EXPECT_EQ(base.width, 768);
  EXPECT_EQ(base.max_positions + base.position_offset, 4098);
  EXPECT_EQ(special_tokens(base).mask, 50264);
  EXPECT_EQ(base.attention, "diffuser");
  validate(base);
  const auto attention = nn::make_attention(base.attention, nn::Pattern::noncausal_self, {.width = 768, .heads = 12},
                                            base.attention_options);
  const FieldValues published = {{"w", int64_t{64}},
                                 {"g", int64_t{64}},
                                 {"r", int64_t{64}},
                                 {"random_mode", std::string("total")},
                                 {"fit", std::string("cut")},
                                 {"max_len", int64_t{4096}},
                                 {"hops", int64_t{5}},
                                 {"alpha", 0.1},
                                 {"attn_dropout", 0.1},
                                 {"hop_dropout", 0.1},
                                 {"dropout_mode", std::string("once")},
                                 {"padding", std::string("reference")}};
  for (const auto& [name, value] : published) EXPECT_EQ(attention->options().at(name), value) << name;
}

TEST(Encoder, NumbersPositionsFromTheOffset) {
  EncoderConfig config = small_encoder_config();
  const auto plain = small_encoder(config);
  config.position_offset = 2;
  const auto shifted = small_encoder(config);
  torch::NoGradGuard no_grad;
  NamedTensors from = weights_of(*plain), into = weights_of(*shifted);
  for (auto& [name, tensor] : into)
    name == "positions" ? tensor.narrow(0, 2, tensor.size(0) - 2).copy_(from.at(name)) : tensor.copy_(from.at(name));
  const at::Tensor tokens = random_tokens(1, 9);
  EXPECT_TRUE(plain->forward(tokens).equal(shifted->forward(tokens)));
}

TEST(Encoder, APostNormBlockIsItsFormula) {
  EncoderConfig config = small_encoder_config();
  config.layers = 1;
  config.positions = Positions::none;
  const auto encoder = small_encoder(config);
  const NamedTensors w = weights_of(*encoder);
  const at::Tensor tokens = random_tokens(2, 6);
  const auto norm = [&](const at::Tensor& x, const std::string& name) {
    const at::Tensor centred = x - x.mean(-1, true);
    return centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * w.at(name + ".weight") + w.at(name + ".bias");
  };
  const auto linear = [&](const at::Tensor& x, const std::string& name) {
    return x.matmul(w.at(name + ".weight").t()) + w.at(name + ".bias");
  };
  const at::Tensor x = norm(torch::embedding(w.at("embedding"), tokens), "embedding_norm");
  const at::Tensor h = norm(x + encoder->attention(0).forward(x), "blocks.0.attention_norm");
  const at::Tensor u = linear(h, "blocks.0.feed_forward.up");
  const at::Tensor gelu = 0.5 * u * (1 + (u / std::sqrt(2.0)).erf());
  const at::Tensor expected = norm(h + linear(gelu, "blocks.0.feed_forward.down"), "blocks.0.feed_forward_norm");
  EXPECT_CLOSE(encoder->forward(tokens), expected, bound(config, 6, expected));
}

TEST(Encoder, DropsInPartsAsInOnePiece) {
  const auto encoder = small_encoder(small_encoder_config());
  encoder->train();
  const at::Tensor tokens = random_tokens(1, 12);
  const at::Tensor whole =
      encoder->forward(tokens, {.cu_seqlens = nn::cu_from_lengths({5, 7}), .dropout = DropoutKey{9, 0}});
  const at::Tensor part = encoder->forward(tokens.narrow(1, 5, 7), {.dropout = DropoutKey{9, 5}});
  EXPECT_CLOSE(whole.narrow(1, 5, 7), part, bound(encoder->config(), 12, whole));
  EXPECT_FALSE(part.equal(encoder->forward(tokens.narrow(1, 5, 7), {.dropout = DropoutKey{9, 0}})));
}

TEST(Encoder, DecaysMatricesAlone) {
  EncoderConfig config = small_encoder_config();
  EncoderModel model(config, {.kind = HeadKind::masked_language});
  for (const ParameterGroup& group : parameter_groups(model, 10))
    for (const auto& [name, parameter] : group.parameters)
      EXPECT_EQ(group.weight_decay, parameter.dim() == 2 && name != "encoder.positions") << name;
}

TEST(Encoder, RefusesWhatDoesNotFit) {
  const auto error = [](auto change) {
    EncoderConfig config = small_encoder_config();
    change(config);
    return error_of([&] { Encoder encoder(config); });
  };
  EXPECT_EQ(error([](EncoderConfig& c) { c.mask_token = 11; }), "encoder: special tokens must be from 0 to 10, got 11");
  EXPECT_EQ(error([](EncoderConfig& c) { c.mask_token = c.padding_token; }),
            "encoder: special tokens must differ, got 7, 8, 9 and 9");
  EXPECT_EQ(error([](EncoderConfig& c) { c.heads = 3; }),
            "encoder: width must be a multiple of heads, got width 16 and heads 3");
  EXPECT_EQ(error([](EncoderConfig& c) { c.attention = "sofmax"; }).substr(0, 27), "unknown attention 'sofmax';");
  const auto encoder = small_encoder(small_encoder_config());
  EXPECT_EQ(error_of([&] { encoder->forward(random_tokens(1, 65)); }),
            "encoder: learned positions end at max_positions = 64, got position 64");
  EXPECT_EQ(error_of([&] {
              encoder->forward(torch::full({1, 2}, 11, torch::kLong));
            }),
            "encoder: tokens must be from 0 to 10, got 11");
  EXPECT_EQ(error_of([] { encoder_preset("bse"); }), "encoder preset: unknown field 'bse'; did you mean 'base'?");
}

TEST(Heads, PoolByTheFirstTokenOrTheMean) {
  const at::Tensor x = torch::arange(12, torch::kDouble).view({1, 6, 2});
  const at::Tensor cu = nn::cu_from_lengths({1, 3, 2});
  EXPECT_TRUE(pooled(x, cu, Pooling::first).equal(x[0].index_select(0, nn::index_tensor({0, 1, 4}))));
  const at::Tensor means = torch::stack({x[0][0], x[0].narrow(0, 1, 3).mean(0), x[0].narrow(0, 4, 2).mean(0)});
  EXPECT_TRUE(pooled(x, cu, Pooling::mean).equal(means));
}

TEST(Heads, TheNllOfHiddenTokensIsThatOfTheirLogits) {
  EncoderModel model(small_encoder_config(), {.kind = HeadKind::masked_language});
  model.to(torch::kDouble);
  torch::NoGradGuard no_grad;
  weights_of(model).at("head.bias").copy_(torch::randn({11}));  // it begins at 0
  const SequencePack pack{random_tokens(1, 9), nn::cu_from_lengths({4, 5})};
  const at::Tensor hidden = model.hidden(pack), places = nn::index_tensor({1, 6}), targets = nn::index_tensor({3, 10});
  const at::Tensor logits = model.masked_logits(hidden, places);
  const at::Tensor expected = -logits.log_softmax(1).gather(1, targets.unsqueeze(1)).squeeze(1);
  const double sum = testing::sum_bound<double>(16 + 11) * (1 + logits.abs().max().item<double>());
  EXPECT_CLOSE(model.masked_nll(hidden, places, targets), expected, sum);
  EXPECT_CLOSE(model.masked_nll(hidden, places, targets, 1), expected, sum);
}

TEST(Heads, RefuseWhatTheyAreNotFor) {
  EXPECT_EQ(error_of([] { validate(HeadConfig{.kind = HeadKind::classification, .labels = {"a"}}); }),
            "head: classification needs from 2 to 1048576 labels, got 1");
  EXPECT_EQ(error_of([] {
              validate(HeadConfig{.kind = HeadKind::multi_label, .labels = {"a", "a"}});
            }),
            "head: the labels must differ");
  EXPECT_EQ(error_of([] { validate(HeadConfig{.kind = HeadKind::question, .labels = {"a"}}); }),
            "head: question has no use for labels, got 1");
  EXPECT_EQ(error_of([] { head_kind("clasification"); }),
            "unknown kind of task 'clasification'; did you mean 'classification'?");
  EXPECT_EQ(error_of([] {
              EncoderModel(small_encoder_config(), {.kind = HeadKind::question, .global_tokens = GlobalTokens::task});
            }),
            "head: global_tokens = task needs an attention that has global tokens, got softmax");
  EncoderModel model(small_encoder_config(), {.kind = HeadKind::question});
  EXPECT_EQ(error_of([&] {
              model.label_logits(torch::zeros({1, 2, 16}), nn::cu_from_lengths({2}));
            }),
            "encoder model: a head for question has no labels");
}

}  // namespace
}  // namespace longspan::models
