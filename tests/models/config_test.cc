#include "longspan/models/config.h"

#include <gtest/gtest.h>

#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

TEST(Config, JsonKeepsEveryField) {
  ModelConfig config = small_config("lavo", Shape::llama);
  config.positions = Positions::learned;
  config.tied = false;
  config.dropout = 0.25;
  const Json json = to_json(config);
  for (const auto& info : model_fields().infos()) EXPECT_TRUE(json.contains(info.name)) << info.name;
  const ModelConfig back = config_from_json(parse_json(json.dump(), "test"));
  EXPECT_TRUE(back == config);
  EXPECT_EQ(back.shape, Shape::llama);
  EXPECT_EQ(back.positions, Positions::learned);
  EXPECT_EQ(back.max_positions, 64);
  EXPECT_FALSE(back.tied);
  EXPECT_EQ(back.dropout, 0.25);
  EXPECT_EQ(to_json(back).dump(), json.dump());
}

TEST(Config, AModelsConfigurationIsComplete) {
  const auto model = small_model(small_config());
  const Json options = to_json(model->config())["attention_options"];
  EXPECT_EQ(options["r"], 4);
  EXPECT_TRUE(options.contains("combine"));
  EXPECT_TRUE(model->config() == small_config()) << "defaults written out are the same configuration";
}

TEST(Config, UnknownFieldsNameTheNearest) {
  const auto message = [](const char* text) {
    return error_of([&] {
      const ModelConfig config = config_from_json(parse_json(text, "test"));
      validate(config);
    });
  };
  EXPECT_EQ(message(R"({"layer": 2})"), "model: unknown field 'layer'; did you mean 'layers'?");
  EXPECT_EQ(message(R"({"atention_options": {}})"),
            "model: unknown field 'atention_options'; did you mean 'attention_options'?");
  EXPECT_NE(message(R"({"attention": "lavoo"})").find("lavo"), std::string::npos);
  EXPECT_EQ(message(R"({"attention": "lavo", "attention_options": {"rr": 3}})"),
            "lavo: unknown field 'rr'; did you mean 'r'?");
}

TEST(Config, RangesAndKinds) {
  const auto message = [](const char* text) {
    return error_of([&] { validate(config_from_json(parse_json(text, "test"))); });
  };
  EXPECT_EQ(message(R"({"layers": 0})"), "model: layers must be an integer from 1 to 1024, got 0");
  EXPECT_EQ(message(R"({"width": 30, "heads": 4})"),
            "model: width must be a multiple of heads, got width 30 and heads 4");
  EXPECT_EQ(message(R"({"heads": 4, "kv_heads": 3})"),
            "model: kv_heads must be 0 or a divisor of heads, got kv_heads 3 and heads 4");
  EXPECT_EQ(message(R"({"width": 12, "heads": 4, "positions": "rotary"})"),
            "model: rotary positions need an even width per head, got 3");
  EXPECT_EQ(message(R"({"shape": "bert"})"), "model: shape must be one of gpt2, llama, got bert");
  EXPECT_NE(message(R"([1])"), "");
  EXPECT_NE(message(R"({"width": "wide"})"), "");
  EXPECT_NE(error_of([] {
              LanguageModel model(config_from_json(parse_json(R"({"attention_options": {"r": 64}})", "test")));
            }),
            "")
      << "r above the head width of 32";
}

TEST(Config, AnotherAttentionDropsTheOptionsOfTheOld) {
  ModelConfig config = small_config("lavo");
  merge_json(config, parse_json(R"({"attention": "softmax"})", "test"));
  EXPECT_TRUE(config.attention_options.empty());
  config = small_config("lavo");
  merge_json(config, parse_json(R"({"attention_options": {"r": 8}})", "test"));
  EXPECT_EQ(std::get<int64_t>(config.attention_options["r"]), 8);
  EXPECT_EQ(std::get<int64_t>(config.attention_options["w"]), 3) << "not named, not changed";
}

TEST(Config, EqualityLooksAtValuesNotAtSpelling) {
  ModelConfig a = small_config("lavo"), b = a;
  b.attention_options["r"] = std::string("4");  // as a command line gives it
  EXPECT_TRUE(a == b);
  b.attention_options["r"] = int64_t{5};
  EXPECT_FALSE(a == b);
  b = a;
  b.feed_forward = 25;
  EXPECT_FALSE(a == b);
}

}  // namespace
}  // namespace longspan::models
