#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "longspan/models/model_files.h"
#include "longspan/models/model_state.h"
#include "longspan/models/state_file.h"
#include "longspan/models/tensor_files.h"
#include "longspan/text/byte_tokenizer.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

class ModelFiles : public ScratchFolder {
 protected:
  ModelFiles() {
    config_ = small_config();
    config_.vocabulary = 256;
    torch::manual_seed(1);
    model_ = std::make_shared<LanguageModel>(config_);
    model_->eval();
    folder_of_model_ = path("model");
    save_model(folder_of_model_, *model_, ByteTokenizer(), parse_json(R"({"train": {"steps": 3}})", "test"));
  }
  std::string weights() const { return folder_of_model_ + "/model.safetensors"; }
  /// The weights file with a change made to what it holds.
  void rewrite(const std::function<void(NamedTensors&)>& change) {
    NamedTensors tensors;
    {
      const SafetensorsFile file(weights());
      for (const auto& [name, info] : file.tensors()) tensors[name] = read_tensor(file, name);
    }
    change(tensors);
    write_tensors(weights(), tensors, {});
  }
  std::string load_error() const {
    return error_of([&] { load_model(folder_of_model_); });
  }

  ModelConfig config_;
  std::shared_ptr<LanguageModel> model_;
  std::string folder_of_model_;
};

TEST_F(ModelFiles, RoundTripKeepsEveryBit) {
  const LoadedModel loaded = load_model(folder_of_model_);
  EXPECT_TRUE(loaded.model->config() == config_);
  EXPECT_EQ(loaded.model->identity(), model_->identity());
  EXPECT_EQ(loaded.config["train"]["steps"], 3);
  EXPECT_EQ(loaded.tokenizer->name(), "bytes");
  EXPECT_FALSE(loaded.model->is_training());
  const at::Tensor tokens = random_tokens(2, 30, 256);
  EXPECT_TRUE(loaded.model->hidden(tokens).equal(model_->hidden(tokens)));
  const auto before = load_json(folder_of_model_ + "/config.json");
  save_model(folder_of_model_, *loaded.model, *loaded.tokenizer, parse_json(R"({"train": {"steps": 3}})", "test"));
  EXPECT_EQ(load_json(folder_of_model_ + "/config.json").dump(), before.dump());
}

TEST_F(ModelFiles, NamesTheFirstTensorThatDiffers) {
  const std::string name = "blocks.1.feed_forward.up.weight";
  rewrite([&](NamedTensors& t) { t.erase(name); });
  EXPECT_EQ(load_error(), weights() + ": tensor '" + name + "' is missing");
  rewrite([&](NamedTensors& t) { t[name] = torch::zeros({24, 15}); });
  EXPECT_EQ(load_error(), weights() + ": tensor '" + name + "' must have shape [24, 16], got [24, 15]");
  rewrite([&](NamedTensors& t) { t[name] = torch::zeros({24, 16}, torch::kDouble); });
  EXPECT_EQ(load_error(), weights() + ": tensor '" + name + "' must have dtype F32, got F64");
  rewrite([&](NamedTensors& t) {
    t[name] = torch::zeros({24, 16});
    t["blocks.2.extra"] = torch::zeros({1});
  });
  EXPECT_EQ(load_error(), weights() + ": tensor 'blocks.2.extra' is not part of the model");
}

TEST_F(ModelFiles, WeightsBeginAnotherModel) {
  const ByteTokenizer bytes;
  ModelConfig other = config_;
  other.attention = "local";
  other.attention_options = {{"w", int64_t{4}}};
  torch::manual_seed(2);
  LanguageModel local(other);
  const NamedTensors drawn = [&] {
    NamedTensors copies;
    for (const auto& [name, tensor] : local.weights()) copies[name] = tensor.detach().clone();
    return copies;
  }();
  const InitialWeights taken = init_weights(folder_of_model_, bytes, local);
  const NamedTensors from = model_->weights();
  EXPECT_TRUE(taken.missing.empty());
  EXPECT_NE(std::find(taken.left_over.begin(), taken.left_over.end(), "blocks.0.attention.basis"),
            taken.left_over.end());
  for (const auto& [name, tensor] : local.weights()) EXPECT_TRUE(tensor.equal(from.at(name))) << name;

  // The other way round: what the file lacks stays as it was drawn.
  save_weights(weights(), local);
  torch::manual_seed(3);
  LanguageModel lavo(config_);
  const at::Tensor basis = lavo.weights().at("blocks.1.attention.basis").detach().clone();
  const InitialWeights back = init_weights(folder_of_model_, bytes, lavo);
  EXPECT_NE(std::find(back.missing.begin(), back.missing.end(), "blocks.1.attention.basis"), back.missing.end());
  EXPECT_TRUE(back.left_over.empty());
  EXPECT_TRUE(lavo.weights().at("blocks.1.attention.basis").equal(basis));
  EXPECT_TRUE(lavo.weights().at("embedding").equal(from.at("embedding")));

  const std::string before = lavo.identity();
  const std::string name = "blocks.1.feed_forward.up.weight";
  rewrite([&](NamedTensors& t) { t[name] = torch::zeros({24, 15}); });
  EXPECT_EQ(error_of([&] { init_weights(folder_of_model_, bytes, lavo); }),
            weights() + ": tensor '" + name + "' must have shape [24, 16], got [24, 15]");
  EXPECT_EQ(lavo.identity(), before);
  rewrite([&](NamedTensors& t) { t = {{"x", torch::zeros({1})}}; });
  EXPECT_EQ(error_of([&] { init_weights(folder_of_model_, bytes, lavo); }),
            weights() + ": has no weight of this model");
  EXPECT_NE(error_of([&] { init_weights(path("nowhere"), bytes, lavo); }), "");
}

// Pairs of one's own go with the model: their file is read once.
TEST_F(ModelFiles, HoldThePairsOfAPattern) {
  const std::string pairs = path("pairs.txt"), moved = path("elsewhere");
  const auto make = [&](const std::string& text, int64_t seed) {
    std::ofstream(pairs) << text;
    ModelConfig config = config_;
    config.attention = "diffuser";
    config.attention_options = {{"pattern", "window_band+edges"}, {"k", int64_t{1}}, {"edges", pairs}};
    torch::manual_seed(seed);
    auto model = std::make_shared<LanguageModel>(config);
    model->eval();
    return model;
  };
  const auto model = make("9 0\n20 3\n11 2\n", 1);
  const at::Tensor tokens = random_tokens(2, 30, 256), wanted = model->hidden(tokens);
  save_model(folder_of_model_, *model, ByteTokenizer());
  std::filesystem::remove(pairs);
  std::filesystem::rename(folder_of_model_, moved);
  const LoadedModel loaded = load_model(moved);
  EXPECT_TRUE(loaded.model->hidden(tokens).equal(wanted));
  EXPECT_TRUE(loaded.model->config() == model->config());
  EXPECT_EQ(loaded.config["model"]["attention_options"]["edges"], "weights:21:3");

  // A model with other pairs takes over what was learned and keeps its own.
  const auto other = make("8 1\n20 4\n12 2\n", 2);
  const at::Tensor keys = other->weights().at("blocks.1.attention.given_edge_keys").clone();
  const InitialWeights taken = init_weights(moved, ByteTokenizer(), *other);
  EXPECT_TRUE(taken.missing.empty());
  EXPECT_TRUE(taken.left_over.empty());
  EXPECT_TRUE(other->weights().at("blocks.1.attention.given_edge_keys").equal(keys));
  EXPECT_TRUE(other->weights().at("embedding").equal(model->weights().at("embedding")));

  Json config = load_json(moved + "/config.json");
  config["model"]["attention_options"]["edges"] = "weights:1000000000:3";
  save_json(moved + "/config.json", config);
  EXPECT_EQ(error_of([&] { load_model(moved); }),
            moved +
                "/model.safetensors: tensor 'blocks.0.attention.given_edge_begin' must have shape [1000000001], "
                "got [22]");
}

TEST_F(ModelFiles, AConfigurationCannotAskForWhatItsWeightsDoNotFill) {
  // Each of these models would take from gigabytes to more than any machine has.
  const auto refusal = [&](const char* field, const Json& value) {
    Json config = load_json(folder_of_model_ + "/config.json");
    config["model"][field] = value;
    put("model/config.json", config.dump());
    const std::string text = load_error();
    save_model(folder_of_model_, *model_, ByteTokenizer());
    return text;
  };
  const std::string begin = weights() + ": tensor '";
  EXPECT_EQ(refusal("width", 65536), begin + "embedding' must have shape [256, 65536], got [256, 16]");
  EXPECT_EQ(refusal("layers", 1024), begin + "blocks.1023.feed_forward.up.weight' is missing");
  EXPECT_EQ(refusal("feed_forward", 262144),
            begin + "blocks.1.feed_forward.up.weight' must have shape [262144, 16], got [24, 16]");
  EXPECT_EQ(refusal("tied", false), begin + "head' is missing");
  {
    Json config = load_json(folder_of_model_ + "/config.json");
    config["model"]["positions"] = "learned";
    config["model"]["max_positions"] = 1 << 24;
    put("model/config.json", config.dump());
    EXPECT_EQ(load_error(), begin + "positions' is missing");
    save_model(folder_of_model_, *model_, ByteTokenizer());
  }
  const at::Tensor generator = at::detail::getDefaultCPUGenerator().get_state();
  EXPECT_EQ(refusal("attention_options", {{"w", 1 << 20}, {"r", 4}}),
            begin + "blocks.0.attention.position_table' must have shape [2, 2097151], got [2, 5]");
  EXPECT_TRUE(at::detail::getDefaultCPUGenerator().get_state().equal(generator)) << "a block draws initial values";
  EXPECT_EQ(load_error(), "");
}

TEST_F(ModelFiles, ARefusedFileLeavesTheModelAsItWas) {
  const std::string before = model_->identity();
  rewrite([&](NamedTensors& t) { t.erase("norm.weight"); });
  EXPECT_NE(error_of([&] { load_weights(weights(), *model_); }), "");
  EXPECT_EQ(model_->identity(), before);
}

TEST_F(ModelFiles, BrokenFoldersAreOneClearLine) {
  EXPECT_EQ(error_of([&] { load_model(path("nothing")); }), path("nothing") + ": not a model: no such folder");
  const std::string content = get("model/model.safetensors");
  put("model/model.safetensors", content.substr(0, content.size() - 5));
  EXPECT_NE(load_error().find("model.safetensors"), std::string::npos);
  put("model/model.safetensors", content);
  EXPECT_EQ(load_error(), "");
  put("model/config.json", "{}");
  EXPECT_EQ(load_error(), folder_of_model_ + "/config.json: expected an object with the member 'model'");
  put("model/config.json", R"({"model": {"layerz": 1}})");
  EXPECT_NE(load_error().find("unknown field 'layerz'; did you mean 'layers'?"), std::string::npos);
  put("model/config.json", R"({"model": {"layers": )");
  EXPECT_NE(load_error().find("config.json:1:"), std::string::npos);
  std::filesystem::remove(folder_of_model_ + "/config.json");
  EXPECT_NE(load_error().find("config.json"), std::string::npos);
}

TEST_F(ModelFiles, StateGoesOnInAnotherModelObject) {
  const at::Tensor tokens = random_tokens(2, 41, 256);
  ModelState state = model_->begin(2);
  model_->extend(state, tokens.narrow(1, 0, 20));
  save_state(path("state"), *model_, state);
  const at::Tensor expected = model_->extend(state, tokens.narrow(1, 20, 21));

  const LoadedModel loaded = load_model(folder_of_model_);
  ModelState back = load_state(path("state"), *loaded.model);
  EXPECT_EQ(back.batch(), 2);
  EXPECT_TRUE(loaded.model->extend(back, tokens.narrow(1, 20, 21)).equal(expected));
  EXPECT_TRUE(back.positions.equal(torch::tensor({41, 41})));
}

TEST_F(ModelFiles, AStateOfAnotherModelOrADamagedOneIsRefused) {
  ModelState state = model_->begin(1);
  model_->extend(state, random_tokens(1, 9, 256));
  save_state(path("state"), *model_, state);
  const std::string content = get("state");

  torch::manual_seed(2);
  LanguageModel other(config_);
  EXPECT_EQ(error_of([&] { load_state(path("state"), other); }),
            path("state") + ": the state belongs to another model, of the same configuration with other weights");
  ModelConfig deeper = config_;
  deeper.layers = 3;
  EXPECT_EQ(error_of([&] { load_state(path("state"), LanguageModel(deeper)); }),
            path("state") + ": the state belongs to another model, with layers = 2, this one has 3");
  ModelConfig wider = config_;
  wider.attention_options["w"] = int64_t{5};
  EXPECT_EQ(error_of([&] { load_state(path("state"), LanguageModel(wider)); }),
            path("state") + ": the state belongs to another model, with attention_options.w = 3, this one has 5");
  LanguageModel exact(config_);
  exact.to(torch::kDouble);
  EXPECT_EQ(error_of([&] { load_state(path("state"), exact); }),
            path("state") + ": the state was made with weights of F32, these are F64");
  std::string altered = content;
  altered[altered.size() - 3] ^= 1;
  put("state", altered);
  EXPECT_EQ(error_of([&] { load_state(path("state"), *model_); }),
            path("state") + ": the content was altered after it was written");
  put("state", content.substr(0, content.size() / 2));
  EXPECT_NE(error_of([&] { load_state(path("state"), *model_); }), "");
  EXPECT_NE(error_of([&] { load_state(weights(), *model_); }), "") << "a model is not a state";
  put("state", content);
  EXPECT_EQ(load_state(path("state"), *model_).batch(), 1);
}

TEST_F(ModelFiles, AStateWithAFittingFingerprintIsStillChecked) {
  ModelState state = model_->begin(2);
  model_->extend(state, random_tokens(2, 9, 256));
  save_state(path("state"), *model_, state);
  NamedTensors written;
  std::map<std::string, std::string> metadata;
  {
    const SafetensorsFile file(path("state"));
    for (const auto& [name, info] : file.tensors()) written[name] = read_tensor(file, name);
    metadata = file.metadata();
  }
  const auto changed = [&](const std::function<void(NamedTensors&)>& change) {
    NamedTensors tensors = written;
    change(tensors);
    metadata["fingerprint"] = content_fingerprint(tensors, metadata);
    write_tensors(path("hostile"), tensors, metadata);
    return error_of([&] { load_state(path("hostile"), *model_); });
  };
  EXPECT_EQ(changed([](NamedTensors&) {}), "");
  const std::string begin = path("hostile") + ": tensor '";
  for (const char* name : {"x", "layers.", "layers.x.count", "layers.99999999999999999999.count", "layers.2.count"})
    EXPECT_EQ(changed([&](NamedTensors& t) { t[name] = torch::zeros({2}); }),
              begin + name + "' is not part of the state");
  EXPECT_EQ(changed([](NamedTensors& t) {
              t["positions"] = torch::tensor({-1, 3});
            }),
            begin + "positions' must count from 0 to 2^53");
  EXPECT_EQ(changed([](NamedTensors& t) { t["positions"] = torch::full({2}, INT64_MAX, torch::kLong); }),
            begin + "positions' must count from 0 to 2^53");
  EXPECT_EQ(changed([](NamedTensors& t) { t["positions"] = torch::zeros({}, torch::kLong); }),
            path("hostile") + ": positions must be [batch], got []");
  for (const auto& [name, tensor] : written) {
    EXPECT_EQ(changed([&](NamedTensors& t) { t.erase(name); }), begin + name + "' is missing");
    EXPECT_NE(changed([&](NamedTensors& t) { t[name] = tensor.narrow(0, 0, 1); }), "") << name;
    EXPECT_NE(changed([&](NamedTensors& t) { t[name] = tensor.unsqueeze(-1); }), "") << name;
    EXPECT_EQ(changed([&](NamedTensors& t) { t[name] = tensor.to(torch::kShort); }).rfind(begin + name, 0), 0u);
    if (tensor.dim() > 1) {
      EXPECT_NE(changed([&](NamedTensors& t) { t[name] = torch::cat({tensor, tensor}, -1); }), "") << name;
    }
  }
}

TEST_F(ModelFiles, ACacheMayGrowButMustFitItsCounts) {
  config_ = small_config("softmax");
  LanguageModel reader(config_);
  ModelState state = reader.begin(2);
  reader.extend(state, random_tokens(2, 9));
  EXPECT_EQ(state.layers[1].at("keys").size(2), 9);
  const auto after = [&](const std::function<void(ModelState&)>& change) {
    ModelState changed = state.clone();
    change(changed);
    save_state(path("state"), reader, changed);
    return error_of([&] { load_state(path("state"), reader); });
  };
  const std::string begin = path("state") + ": tensor 'layers.1.count' ";
  EXPECT_EQ(after([](ModelState&) {}), "");
  const auto counts = [](int64_t a, int64_t b) {
    return [a, b](ModelState& s) { s.layers[1].set("count", torch::tensor({a, b})); };
  };
  EXPECT_EQ(after(counts(9, 8)), begin + "must equal positions");
  EXPECT_EQ(after(counts(9, 10)), begin + "must equal positions");
  EXPECT_EQ(after(counts(9, -1)), begin + "must count from 0 to 2^53");
  EXPECT_NE(after([](ModelState& s) { s.layers[1].set("keys", s.layers[1].at("keys").narrow(3, 0, 4)); }), "");
  EXPECT_EQ(after([](ModelState& s) { s.layers[1].set("keys", s.layers[1].at("keys").to(torch::kBFloat16)); }), "")
      << "as autocast leaves it";
}

TEST_F(ModelFiles, RowsOfAStateCanBeReorderedAndRepeated) {
  const at::Tensor tokens = random_tokens(2, 20, 256);
  ModelState state = model_->begin(2);
  model_->extend(state, tokens);
  ModelState chosen = state.select(torch::tensor({1, 0, 1}));
  EXPECT_EQ(chosen.batch(), 3);
  const at::Tensor next = random_tokens(3, 6, 256);
  const at::Tensor together = model_->extend(chosen, next);
  ModelState one = model_->begin(1);
  model_->extend(one, tokens.narrow(0, 1, 1));
  const at::Tensor alone = model_->extend(one, next.narrow(0, 2, 1));
  // float32: another batch may round differently.
  const double bound = hidden_bound(config_, 26, alone.abs().max().item<double>()) * testing::unit_roundoff<float>() /
                       testing::unit_roundoff<double>();
  EXPECT_CLOSE(together[2], alone[0], bound);
}

}  // namespace
}  // namespace longspan::models
