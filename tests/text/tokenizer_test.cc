#include "longspan/text/tokenizer.h"

#include <gtest/gtest.h>

#include "longspan/base/check.h"
#include "longspan/text/byte_tokenizer.h"

namespace longspan {
namespace {

std::string error_of(const FieldValues& description) {
  try {
    make_tokenizer(description, "tokenizer.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ByteTokenizer, EveryByte) {
  std::string text;
  for (int b = 0; b < 256; ++b) text += static_cast<char>(b);
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.vocabulary_size(), 256);
  const auto tokens = tokenizer.encode(text);
  ASSERT_EQ(tokens.size(), 256u);
  for (uint32_t b = 0; b < 256; ++b) EXPECT_EQ(tokens[b], b);
  EXPECT_EQ(tokenizer.decode(tokens), text);
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_EQ(tokenizer.decode({}), "");
}

TEST(ByteTokenizer, CutsAnywhere) {
  const ByteTokenizer tokenizer;
  const std::string text = "na\xc3\xafve";
  const auto whole = tokenizer.encode(text);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    auto joined = tokenizer.encode(text.substr(0, cut));
    for (const auto token : tokenizer.encode(text.substr(cut))) joined.push_back(token);
    EXPECT_EQ(joined, whole);
  }
}

TEST(ByteTokenizer, RefusesOtherTokens) {
  const std::vector<uint32_t> tokens = {1, 256};
  try {
    ByteTokenizer().decode(tokens);
    ADD_FAILURE() << "256 was taken";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "tokenizer bytes: token must be below 256, got 256");
  }
}

TEST(Tokenizer, DescriptionMakesItAgain) {
  for (const auto& name : tokenizer_names()) {
    const auto tokenizer = make_tokenizer({{"tokenizer", name}}, "tokenizer.json");
    EXPECT_EQ(tokenizer->name(), name);
    EXPECT_EQ(make_tokenizer(tokenizer->description(), "tokenizer.json")->name(), name);
  }
}

TEST(Tokenizer, WrongDescriptions) {
  EXPECT_EQ(error_of({{"tokenizer", "bpe"}}), "tokenizer.json: unknown tokenizer 'bpe', expected one of: bytes");
  EXPECT_EQ(error_of({}), "tokenizer.json: unknown tokenizer '', expected one of: bytes");
  EXPECT_EQ(error_of({{"tokenizr", "bytes"}}),
            "tokenizer.json: tokenizer: unknown field 'tokenizr'; did you mean 'tokenizer'?");
  EXPECT_EQ(error_of({{"tokenizer", int64_t{3}}}), "tokenizer.json: tokenizer: tokenizer must be text, got 3");
}

}  // namespace
}  // namespace longspan
