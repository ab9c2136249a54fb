#include "longspan/models/language_model.h"

#include <gtest/gtest.h>

#include <set>

#include "longspan/models/inspection.h"
#include "longspan/models/positions.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

struct Case {
  std::string attention;
  Shape shape;
  Positions positions;
};

class LanguageModels : public ::testing::TestWithParam<Case> {
 protected:
  ModelConfig config() const {
    ModelConfig config = small_config(GetParam().attention, GetParam().shape);
    config.positions = GetParam().positions;
    return config;
  }
};

TEST_P(LanguageModels, ShapesAndFiniteValues) {
  const auto model = small_model(config());
  const at::Tensor tokens = random_tokens(3, 13);
  const at::Tensor hidden = model->hidden(tokens);
  EXPECT_EQ(hidden.sizes(), at::IntArrayRef({3, 13, 16}));
  EXPECT_EQ(model->logits(hidden).sizes(), at::IntArrayRef({3, 13, 11}));
  EXPECT_TRUE(model->nll(random_tokens(3, 14)).isfinite().all().item<bool>());
  EXPECT_EQ(model->hidden(random_tokens(2, 0)).sizes(), at::IntArrayRef({2, 0, 16}));
  EXPECT_EQ(model->nll(random_tokens(2, 1)).sizes(), at::IntArrayRef({2, 0}));
}

TEST_P(LanguageModels, NeverLooksAhead) {
  const auto model = small_model(config());
  const at::Tensor tokens = random_tokens(2, 12);
  at::Tensor changed = tokens.clone();
  changed.narrow(1, 7, 5) = (changed.narrow(1, 7, 5) + 1) % 11;
  const at::Tensor a = model->hidden(tokens), b = model->hidden(changed);
  EXPECT_TRUE(a.narrow(1, 0, 7).equal(b.narrow(1, 0, 7)));
  EXPECT_FALSE(a.narrow(1, 7, 5).equal(b.narrow(1, 7, 5)));
}

TEST_P(LanguageModels, AStreamEqualsTheWhole) {
  const auto model = small_model(config());
  const at::Tensor tokens = random_tokens(2, 23);
  const at::Tensor whole = model->hidden(tokens);
  ModelState state = model->begin(2);
  std::vector<at::Tensor> parts;
  int64_t at = 0;
  for (int64_t size : {1, 1, 9, 0, 4, 8}) {
    parts.push_back(model->extend(state, tokens.narrow(1, at, size)));
    at += size;
  }
  const double bound = hidden_bound(model->config(), 23, whole.abs().max().item<double>());
  EXPECT_CLOSE(torch::cat(parts, 1), whole, bound);
  EXPECT_TRUE(state.positions.equal(torch::tensor({23, 23})));
}

TEST_P(LanguageModels, PaddingAndPackingChangeNothing) {
  const auto model = small_model(config());
  const at::Tensor a = random_tokens(1, 9, 11, 4), b = random_tokens(1, 5, 11, 5);
  const at::Tensor ha = model->hidden(a), hb = model->hidden(b);
  const double bound = hidden_bound(model->config(), 9, ha.abs().max().item<double>());

  TokenInputs inputs;
  inputs.valid = torch::ones({2, 9}, torch::kBool);
  at::Tensor rows = torch::cat({a, torch::zeros({1, 9}, torch::kLong)});
  const at::Tensor places = torch::tensor({1, 2, 4, 7, 8});  // left and inner padding
  (*inputs.valid)[1] = false;
  (*inputs.valid)[1].index_fill_(0, places, 1);
  rows[1].index_copy_(0, places, b[0]);
  const at::Tensor padded = model->hidden(rows, inputs);
  EXPECT_CLOSE(padded[0], ha[0], bound);
  EXPECT_CLOSE(padded[1].index_select(0, places), hb[0], bound);

  TokenInputs packed;
  packed.cu_seqlens = torch::tensor({0, 9, 14});
  const at::Tensor pack = model->hidden(torch::cat({a, b}, 1), packed);
  EXPECT_CLOSE(pack.narrow(1, 0, 9), ha, bound);
  EXPECT_CLOSE(pack.narrow(1, 9, 5), hb, bound);
}

TEST_P(LanguageModels, NllIsTheLogOfTheSoftmax) {
  const auto model = small_model(config());
  const at::Tensor tokens = random_tokens(2, 8);
  const at::Tensor logits = model->logits(model->hidden(tokens.narrow(1, 0, 7)));
  const at::Tensor expected = -torch::log_softmax(logits, -1).gather(2, tokens.narrow(1, 1, 7).unsqueeze(2)).squeeze(2);
  EXPECT_CLOSE(model->nll(tokens), expected,
               testing::sum_bound<double>(11 + 16) * (1 + logits.abs().max().item<double>()));
}

TEST_P(LanguageModels, EveryParameterIsInOneGroupAndIsTrained) {
  const auto model = small_model(config());
  model->nll(random_tokens(2, 12)).sum().backward();
  std::set<std::string> seen;
  for (const auto& group : model->parameter_groups(10)) {
    for (const auto& [name, parameter] : group.parameters) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      ASSERT_TRUE(parameter.grad().defined()) << name;
      // A bias of the keys moves all scores of a row alike, which no softmax sees.
      if (!name.ends_with("attention.key.bias")) {
        EXPECT_GT(parameter.grad().abs().max().item<double>(), 0) << name;
      }
      EXPECT_EQ(group.weight_decay, group.name == "decay");
      EXPECT_EQ(group.lr_factor, group.name == "epe" ? 10 : 1);
      if (parameter.dim() == 1) {
        EXPECT_FALSE(group.weight_decay) << name;
      }
    }
  }
  EXPECT_EQ(seen.size(), model->parameters().size());
}

INSTANTIATE_TEST_SUITE_P(
    All, LanguageModels,
    ::testing::Values(Case{"lavo", Shape::gpt2, Positions::none}, Case{"lavo", Shape::llama, Positions::sinusoidal},
                      Case{"local", Shape::gpt2, Positions::learned}, Case{"local", Shape::llama, Positions::none},
                      Case{"softmax", Shape::gpt2, Positions::sinusoidal},
                      Case{"softmax", Shape::llama, Positions::learned}, Case{"lavo", Shape::llama, Positions::rotary},
                      Case{"local", Shape::gpt2, Positions::rotary}, Case{"softmax", Shape::llama, Positions::rotary}),
    [](const auto& info) {
      return str_cat(info.param.attention, info.param.shape == Shape::gpt2 ? "_gpt2_" : "_llama_",
                     static_cast<int>(info.param.positions));
    });

TEST(LanguageModel, ParameterCountOfTheSpecification) {
  // Layer of width E with biases: 4 (E^2 + E) attention, 2 E F + F + E feed-forward, 4 E norms; a final norm; tied
  // embedding.
  ModelConfig config = small_config("softmax");
  const int64_t e = 16, f = 24, v = 11;
  const int64_t gpt2 = 4 * (e * e + e) + 2 * e * f + f + e + 4 * e;
  EXPECT_EQ(LanguageModel(config).parameter_count(), 2 * gpt2 + 2 * e + v * e);
  config.tied = false;
  EXPECT_EQ(LanguageModel(config).parameter_count(), 2 * gpt2 + 2 * e + 2 * v * e);
  config.positions = Positions::learned;
  EXPECT_EQ(LanguageModel(config).parameter_count(), 2 * gpt2 + 2 * e + 2 * v * e + 64 * e);
  config = small_config("softmax", Shape::llama);
  EXPECT_EQ(LanguageModel(config).parameter_count(), 2 * (4 * e * e + 3 * e * f + 2 * e) + e + v * e);
  // LAVO adds h r d numbers for the basis and h (2w - 1) for the position table.
  config = small_config("lavo");
  EXPECT_EQ(LanguageModel(config).parameter_count(), 2 * (gpt2 + 2 * 4 * 8 + 2 * 5) + 2 * e + v * e);
}

// Everything that a basis or a scale is made of trains without weight decay, position tables faster.
TEST(LanguageModel, ParameterGroupsKnowTheParametersOfLavo) {
  for (const char* mode : {"qr", "cayley", "householder", "soft", "free"}) {
    ModelConfig config = small_config();
    config.attention_options["basis_mode"] = std::string(mode);
    config.attention_options["score_scale"] = std::string("learned");
    const auto model = small_model(config);
    std::set<std::string> own;
    for (const auto& group : model->parameter_groups(7))
      for (const auto& [name, parameter] : group.parameters) {
        const std::string last = name.substr(name.rfind('.') + 1);
        if (last.starts_with("basis") || last == "log_scale") {
          EXPECT_EQ(group.name, "no_decay") << name;
          own.insert(last);
        }
        if (last == "position_table") {
          EXPECT_EQ(group.name, "epe");
        }
      }
    EXPECT_EQ(own.size(), 2u) << mode;
  }
}

TEST(LanguageModel, AddsTheAuxiliaryLossesOfItsLayers) {
  EXPECT_FALSE(small_model(small_config())->auxiliary_loss().defined());
  ModelConfig config = small_config();
  config.attention_options["basis_mode"] = std::string("soft");
  const auto model = small_model(config);
  {
    torch::NoGradGuard no_grad;
    model->named_parameters()["blocks.0.attention.basis"].mul_(2);
    model->named_parameters()["blocks.1.attention.basis"].mul_(3);
  }
  // Per layer 2 heads of 4 rows whose squared norm is 4 (9) instead of 1; rows of a float32 start are orthonormal to
  // some 2^-24.
  const double expected = 1e-3 * 2 * 4 * (3 * 3 + 8 * 8);
  EXPECT_NEAR(model->auxiliary_loss().item<double>(), expected, expected * 64 * 0x1p-24);
}

TEST(LanguageModel, GroupedHeadsHaveNarrowerKeysAndValues) {
  for (const char* attention : {"lavo", "lavo_selective", "diffuser", "local", "softmax"}) {
    ModelConfig config = small_config(attention);
    config.heads = 4;
    config.kv_heads = 2;
    const auto model = small_model(config);
    const auto weights = model->weights();
    EXPECT_EQ(weights.at("blocks.0.attention.k.weight").sizes(), at::IntArrayRef({8, 16}));
    EXPECT_EQ(weights.at("blocks.0.attention.v.weight").sizes(), at::IntArrayRef({8, 16}));
    EXPECT_EQ(weights.at("blocks.0.attention.q.weight").sizes(), at::IntArrayRef({16, 16}));
    const at::Tensor tokens = random_tokens(2, 12), whole = model->hidden(tokens);
    ModelState state = model->begin(2);
    const at::Tensor pieces =
        torch::cat({model->extend(state, tokens.narrow(1, 0, 5)), model->extend(state, tokens.narrow(1, 5, 7))}, 1);
    EXPECT_CLOSE(pieces, whole, hidden_bound(config, 12, whole.abs().max().item<double>()));
  }
}

TEST(LanguageModel, ShowsTheInsideOfEveryLayer) {
  const auto model = small_model(small_config());
  model->eval();
  ModelInspection inspection(*model);
  const auto seen = inspection.look(random_tokens(2, 9));
  ASSERT_EQ(seen.size(), 2u);
  for (const auto& layer : seen) {
    EXPECT_EQ(layer.at("local_weights").sizes(), at::IntArrayRef({2, 2, 9, 3}));
    EXPECT_EQ(layer.at("slots").sizes(), at::IntArrayRef({2, 2, 9, 4}));
    EXPECT_EQ(layer.at("reading").sizes(), at::IntArrayRef({2, 2, 9, 4}));
    EXPECT_EQ(layer.at("basis").sizes(), at::IntArrayRef({2, 4, 8}));
    EXPECT_CLOSE(layer.at("reading").sum(-1), torch::ones({2, 2, 9}, torch::kDouble), testing::sum_bound<double>(4));
  }
  const auto other = small_model(small_config("softmax"));
  EXPECT_EQ(error_of([&] { ModelInspection refused(*other); }),
            "softmax: the method has nothing to show of its inside");
}

TEST(LanguageModel, ShowsEveryLayerOfAForwardPass) {
  for (const char* attention : {"softmax", "local", "diffuser"}) {
    const auto model = small_model(small_config(attention));
    const at::Tensor tokens = random_tokens(1, 9), expected = model->hidden(tokens);
    at::Tensor hidden;
    std::vector<int64_t> layers;
    inspect_forward(
        *model, [&] { hidden = model->hidden(tokens); },
        [&](int64_t layer, nn::Attention& seen, const std::map<std::string, at::Tensor>& shown) {
          layers.push_back(layer);
          EXPECT_EQ(seen.method(), attention);
          EXPECT_EQ(shown.at("weights").sizes(), at::IntArrayRef({1, 2, 9, 9}));
          EXPECT_CLOSE(shown.at("weights").sum(-1), torch::ones({1, 2, 9}, torch::kDouble),
                       testing::sum_bound<double>(9));
        });
    EXPECT_EQ(layers, (std::vector<int64_t>{0, 1}));
    EXPECT_TRUE(at::equal(hidden, expected)) << "looking changes nothing";
    model->hidden(tokens);
    EXPECT_EQ(layers.size(), 2u) << "nobody looks any more";
  }
}

TEST(LanguageModel, InitialValues) {
  ModelConfig config;
  config.attention = "softmax";
  torch::manual_seed(1);
  LanguageModel model(config);
  const auto parameters = model.named_parameters();
  const auto deviation = [&](const std::string& name) { return parameters[name].std().item<double>(); };
  // 32,768 normal draws: the sample deviation is off by more than 2 % with probability below 1e-6.
  EXPECT_NEAR(deviation("embedding"), 0.02, 0.02 * 0.02);
  // Xavier-uniform of [128, 512], divided by sqrt(2 * 4): a / sqrt(3), a = sqrt(6 / 640).
  EXPECT_NEAR(deviation("blocks.0.feed_forward.down.weight"), std::sqrt(2.0 / 640) / std::sqrt(8.0), 0.0005);
  EXPECT_NEAR(deviation("blocks.3.attention.out.weight"), std::sqrt(2.0 / 256) / std::sqrt(8.0), 0.001);
  // At the start every byte is about equally likely.
  EXPECT_NEAR(model.nll(random_tokens(1, 257, 256)).mean().item<double>(), std::log(256.0), 0.1);
}

TEST(LanguageModel, InvalidTokensDoNotTouchTheState) {
  const auto model = small_model(small_config());
  const at::Tensor tokens = random_tokens(1, 10);
  ModelState with = model->begin(1), without = model->begin(1);
  at::Tensor valid = torch::ones({1, 10}, torch::kBool);
  valid.narrow(1, 3, 2).fill_(false);
  model->extend(with, tokens, valid);
  model->extend(without, torch::cat({tokens.narrow(1, 0, 3), tokens.narrow(1, 5, 5)}, 1));
  EXPECT_EQ(with.positions.item<int64_t>(), 8);
  const at::Tensor a = model->extend(with, tokens), b = model->extend(without, tokens);
  EXPECT_CLOSE(a, b, hidden_bound(model->config(), 18, b.abs().max().item<double>()));
}

TEST(LanguageModel, PaddingBehindTheLastLearnedPositionTakesNone) {
  ModelConfig config = small_config("softmax");
  config.positions = Positions::learned;
  const auto model = small_model(config);
  const at::Tensor tokens = random_tokens(1, 64);
  const at::Tensor padded = torch::cat({tokens, torch::zeros({1, 5}, torch::kLong)}, 1);
  at::Tensor valid = torch::ones({1, 69}, torch::kBool);
  valid.narrow(1, 64, 5).fill_(false);
  const at::Tensor expected = model->hidden(tokens);
  const double bound = hidden_bound(config, 69, expected.abs().max().item<double>());
  TokenInputs inputs;
  inputs.valid = valid;
  EXPECT_CLOSE(model->hidden(padded, inputs).narrow(1, 0, 64), expected, bound);

  ModelState state = model->begin(1);
  EXPECT_CLOSE(model->extend(state, padded, valid).narrow(1, 0, 64), expected, bound);
  EXPECT_EQ(state.positions.item<int64_t>(), 64);
  model->extend(state, padded.narrow(1, 64, 5), valid.narrow(1, 64, 5));  // nothing but padding
  EXPECT_EQ(error_of([&] { model->extend(state, random_tokens(1, 1)); }),
            "language model: learned positions end at max_positions = 64, got position 64");
}

TEST(LanguageModel, MasksAndBordersThatDoNotFitAreRefused) {
  ModelConfig config = small_config("softmax");
  config.positions = Positions::sinusoidal;
  const auto model = small_model(config);
  const auto refused = [&](const std::optional<at::Tensor>& valid, const std::optional<at::Tensor>& cu) {
    return error_of([&] { model->hidden(random_tokens(1, 4), {valid, cu}); }).starts_with("language model: ");
  };
  EXPECT_TRUE(refused(torch::ones({1, 3}, torch::kBool), {}));
  EXPECT_TRUE(refused(torch::ones({1, 4}), {}));
  EXPECT_TRUE(refused({}, torch::tensor({0, 3})));
  EXPECT_TRUE(refused({}, torch::tensor({0, 3, 2, 4})));
  EXPECT_TRUE(refused({}, torch::tensor({1, 4})));
  EXPECT_TRUE(refused({}, torch::zeros({0}, torch::kLong)));
  EXPECT_TRUE(refused({}, torch::tensor({0.0, 4.0})));
  ModelState state = model->begin(1);
  EXPECT_TRUE(error_of([&] {
                model->extend(state, random_tokens(1, 4), torch::ones({2, 4}, torch::kBool));
              }).starts_with("language model: valid must be bool"));
}

TEST(LanguageModel, WrongInputIsRefused) {
  ModelConfig config = small_config("softmax");
  config.positions = Positions::learned;
  const auto model = small_model(config);
  EXPECT_EQ(error_of([&] {
              model->hidden(torch::full({1, 4}, 11, torch::kLong));
            }),
            "language model: tokens must be from 0 to 10, got 11");
  EXPECT_EQ(error_of([&] {
              model->hidden(torch::full({1, 4}, -1, torch::kLong));
            }),
            "language model: tokens must be from 0 to 10, got -1");
  EXPECT_EQ(error_of([&] { model->hidden(random_tokens(1, 65)); }),
            "language model: learned positions end at max_positions = 64, got position 64");
  EXPECT_NE(error_of([&] { model->hidden(torch::zeros({1, 4})); }), "");
  ModelState state = model->begin(2);
  EXPECT_NE(error_of([&] { model->extend(state, random_tokens(1, 4)); }), "");
}

TEST(LanguageModel, AblationChangesTheModelAndCanBeUndone) {
  const auto model = small_model(small_config());
  const at::Tensor tokens = random_tokens(2, 20);
  const at::Tensor before = model->hidden(tokens);
  model->ablate("memory", "zero");
  EXPECT_FALSE(model->hidden(tokens).equal(before));
  model->ablate("memory", "none");
  EXPECT_TRUE(model->hidden(tokens).equal(before));
  EXPECT_NE(error_of([&] { model->ablate("memory", "halve"); }), "");
  EXPECT_NE(error_of([&] { small_model(small_config("softmax"))->ablate("memory", "zero"); }), "");
}

TEST(LanguageModel, IdentityNamesConfigurationAndWeights) {
  const auto model = small_model(small_config()), same = small_model(small_config()),
             other = small_model(small_config(), 8);
  EXPECT_EQ(model->identity(), same->identity());
  EXPECT_EQ(model->identity().size(), 32u);
  EXPECT_NE(model->identity(), other->identity());
  torch::NoGradGuard no_grad;
  const std::string before = model->identity();
  at::Tensor weight = model->parameters().front();
  weight.flatten()[0] += 1e-15;
  EXPECT_NE(model->identity(), before) << "one bit of one weight";
}

TEST(Positions, RanksAndTable) {
  EXPECT_TRUE(ranks(2, 3, {}, {}, {}).equal(torch::tensor({{0, 1, 2}, {0, 1, 2}})));
  EXPECT_TRUE(ranks(2, 2, torch::tensor({5, 0}), {}, {}).equal(torch::tensor({{5, 6}, {0, 1}})));
  EXPECT_TRUE(ranks(1, 4, {}, torch::tensor({{0, 1, 0, 1}}).to(torch::kBool), {}).equal(torch::tensor({{0, 0, 0, 1}})));
  EXPECT_TRUE(ranks(1, 5, {}, {}, torch::tensor({0, 2, 2, 5})).equal(torch::tensor({{0, 1, 0, 1, 2}})));
  const at::Tensor table = sinusoidal(torch::tensor({0, 3}), 6, torch::kDouble);
  for (int i = 0; i < 3; ++i) {
    const double angle = 3 * std::pow(10000.0, -i / 2.0);
    EXPECT_NEAR(table[1][i].item<double>(), std::sin(angle), 1e-14);
    EXPECT_NEAR(table[1][3 + i].item<double>(), std::cos(angle), 1e-14);
    EXPECT_EQ(table[0][i].item<double>(), 0);
  }
  EXPECT_EQ(sinusoidal(torch::tensor({1}), 5, torch::kFloat).sizes(), at::IntArrayRef({1, 5}));
}

}  // namespace
}  // namespace longspan::models
