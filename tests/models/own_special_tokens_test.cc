#include "longspan/models/own_special_tokens.h"

#include <gtest/gtest.h>

#include "longspan/text/byte_tokenizer.h"
#include "longspan/text/subword/tokenizer_json.h"

namespace longspan::models {
namespace {

Json bert_json() {
  return {{"version", "1.0"},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}}},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"vocab", {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}, {"[MASK]", 4}, {"a", 5}}}}}};
}

std::optional<SpecialTokens> of(const Json& json) {
  return own_special_tokens(*read_tokenizer_json(json.dump(), "special.json"));
}

TEST(OwnSpecialTokens, ThoseOfBert) {
  const auto special = of(bert_json());
  ASSERT_TRUE(special);
  EXPECT_EQ(special->first, 2);
  EXPECT_EQ(special->separator, 3);
  EXPECT_EQ(special->padding, 0);
  EXPECT_EQ(special->mask, 4);
  EXPECT_EQ(special->between, 1);
}

TEST(OwnSpecialTokens, TwoSeparatorsAsRobertaHasThem) {
  Json json = bert_json();
  json["post_processor"]["type"] = "RobertaProcessing";
  EXPECT_EQ(of(json).value().between, 2);
}

TEST(OwnSpecialTokens, ATemplateOfAnotherFormHasNone) {
  const Json special = {{"[CLS]", {{"id", "[CLS]"}, {"ids", {2}}, {"tokens", {"[CLS]"}}}},
                        {"[SEP]", {{"id", "[SEP]"}, {"ids", {3}}, {"tokens", {"[SEP]"}}}}};
  const auto token = [](const char* id) { return Json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}}; };
  const auto text = [](const char* id) { return Json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
  Json json = bert_json();
  json["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {token("[CLS]"), text("A"), token("[SEP]")}},
                            {"pair", {text("A"), text("B")}},
                            {"special_tokens", special}};
  EXPECT_EQ(of(json).value().between, 2) << "a pair without separators says nothing about them";
  json["post_processor"]["single"] = {token("[CLS]"), text("A")};
  EXPECT_FALSE(of(json)) << "nothing ends a text";
}

TEST(OwnSpecialTokens, NeedAllFour) {
  for (const char* name : {"[PAD]", "[MASK]"}) {
    Json json = bert_json();
    json["model"]["vocab"].erase(name);
    EXPECT_FALSE(of(json)) << name;
  }
  Json json = bert_json();
  json["post_processor"]["cls"] = {"[PAD]", 0};
  EXPECT_FALSE(of(json)) << "one for two purposes";
  json.erase("post_processor");
  EXPECT_FALSE(of(json));
  EXPECT_FALSE(own_special_tokens(ByteTokenizer()));
}

}  // namespace
}  // namespace longspan::models
