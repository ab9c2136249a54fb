#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <numeric>

#include "longspan/base/check.h"
#include "longspan/text/byte_tokenizer.h"
#include "longspan/text/decoder.h"
#include "longspan/text/sentencepiece_tokenizer.h"
#include "tests/text/sentencepiece_models.h"

namespace longspan {
namespace {

using Tokens = std::vector<uint32_t>;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

class SentencePieceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (auto* make : {unigram_model, byte_pair_model, character_model, suffix_model}) models_.push_back(make());
  }
  static void TearDownTestSuite() { models_.clear(); }

  static const std::string& unigram() { return models_[0]; }
  static const std::string& byte_pairs() { return models_[1]; }

  static std::vector<std::string> models_;
};
std::vector<std::string> SentencePieceTest::models_;

const std::vector<std::string> kTexts = {
    "the sea\n",
    "  the   sea  was\r\n",
    "naïve xyzß😀😀 q the",
    "\n\n  \nthe\n\n",
    "ﬁ the \xE2\x80\x8B sea ½ Ａ",  // shorter and longer when normalised, and gone
    "<s> </s><unk>\xE2\x96\x81sea",
    std::string("a\0b the", 7),
    "the sea was calm\nand no ship came in\n\nwith no sail",
};

TEST_F(SentencePieceTest, SourceBytesAddUpToTheText) {
  for (const std::string& model : models_) {
    const SentencePieceTokenizer tokenizer(model, "model");
    for (const std::string& text : kTexts) {
      const Encoding encoding = tokenizer.encode_aligned(text);
      EXPECT_EQ(encoding.tokens, tokenizer.encode(text)) << text;
      ASSERT_EQ(encoding.source_bytes.size(), encoding.tokens.size());
      EXPECT_EQ(std::accumulate(encoding.source_bytes.begin(), encoding.source_bytes.end(), std::size_t{0}),
                text.size())
          << text;
    }
    EXPECT_TRUE(tokenizer.encode_aligned("").tokens.empty());
  }
}

TEST_F(SentencePieceTest, TokensStandForTheirOwnBytes) {
  const SentencePieceTokenizer words(unigram(), "model"), bytes(byte_pairs(), "model");
  // Trimmed blanks count for the word they follow or precede; empty lines for the word after them, or before at the
  // end.
  EXPECT_EQ(words.encode_aligned("the sea\n").source_bytes, (Tokens{3, 5}));
  EXPECT_EQ(words.encode_aligned("  the   sea  \n").source_bytes, (Tokens{5, 9}));
  EXPECT_EQ(words.encode_aligned("\n\nthe\n\n\nsea\n\n").source_bytes, (Tokens{6, 7}));
  EXPECT_TRUE(words.encode_aligned(" \n\n").tokens.empty());
  // A character that is not known is three bytes, and stands with the last of them; the blank before a line is added.
  EXPECT_EQ(bytes.encode_aligned("the €\n").source_bytes, (Tokens{3, 1, 0, 0, 3, 1}));
  // What is not known in a row is one token.
  EXPECT_EQ(words.encode_aligned("the €€€€").source_bytes, (Tokens{3, 1, 12}));
}

TEST_F(SentencePieceTest, TokensAreThoseOfTheLibraryLineByLine) {
  for (const std::string& model : models_) {
    const SentencePieceTokenizer tokenizer(model, "model");
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.LoadFromSerializedProto(model).ok());
    EXPECT_EQ(tokenizer.vocabulary_size(), library.GetPieceSize());
    for (const std::string& text : kTexts) {
      Tokens expected;
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        for (const int id : library.EncodeAsIds(text.substr(at, end - at))) expected.push_back(id);
        at = end;
      }
      EXPECT_EQ(tokenizer.encode(text), expected) << text;
    }
  }
}

TEST_F(SentencePieceTest, DecodesAsTheLibraryAndTokenByToken) {
  for (const std::string& model : models_) {
    const SentencePieceTokenizer tokenizer(model, "model");
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.LoadFromSerializedProto(model).ok());
    for (const std::string& text : kTexts) {
      if (text.find('\n') < text.size() - 1) continue;  // one line: the library knows no more
      const Tokens tokens = tokenizer.encode(text);
      EXPECT_EQ(tokenizer.decode(tokens), library.DecodeIds({tokens.begin(), tokens.end()})) << text;
    }
    std::string joined;
    TokenDecoder decoder(tokenizer);
    const Tokens tokens = tokenizer.encode(kTexts.back());
    for (const uint32_t token : tokens) joined += decoder.push(token);
    EXPECT_EQ(joined, tokenizer.decode(tokens));
  }
}

TEST_F(SentencePieceTest, WithByteFallbackNothingIsLost) {
  const SentencePieceTokenizer tokenizer(byte_pairs(), "model");
  for (const std::string& text : kTexts) {
    if (text.find("\xE2\x96\x81") != std::string::npos) continue;  // the library's own sign for a blank
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST_F(SentencePieceTest, WhatIsLostIsWhatTheModelDrops) {
  const SentencePieceTokenizer tokenizer(unigram(), "model");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("the  sea\nwas q\n")), "the sea was  ⁇ ");
  // Control tokens are nothing, in the middle too.
  EXPECT_EQ(tokenizer.decode(Tokens{1}), "");
  const uint32_t sea = tokenizer.encode("sea")[0];
  EXPECT_EQ(tokenizer.decode(Tokens{1, sea, 1, sea}), "sea sea");
}

TEST_F(SentencePieceTest, Refusals) {
  const SentencePieceTokenizer tokenizer(unigram(), "model");
  EXPECT_EQ(error_of([&] { tokenizer.encode("the \xff sea"); }),
            "tokenizer sentencepiece: the text is not UTF-8 at byte 4");
  EXPECT_EQ(error_of([&] { tokenizer.encode("the\n sea\xC3"); }),
            "tokenizer sentencepiece: the text is not UTF-8 at byte 8");
  const std::string size = std::to_string(tokenizer.vocabulary_size());
  for (const uint32_t wrong : {static_cast<uint32_t>(tokenizer.vocabulary_size()), 0x80000000u, 0xffffffffu})
    EXPECT_EQ(error_of([&] { tokenizer.decode(Tokens{3, wrong}); }),
              "tokenizer sentencepiece: token must be below " + size + ", got " + std::to_string(wrong));
}

TEST_F(SentencePieceTest, OtherFilesAreRefusedInSilence) {
  const std::string& good = unigram();
  ::testing::internal::CaptureStderr();
  std::vector<std::string> wrong = {"", "x", "{\"tokenizer\": \"bytes\"}", std::string(100, '\0'), good + "x"};
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{100}, good.size() / 2, good.size() - 1})
    wrong.push_back(good.substr(0, size));
  std::vector<std::string> messages;
  for (const std::string& content : wrong)
    messages.push_back(error_of([&] { SentencePieceTokenizer tokenizer(content, "some.model"); }));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  for (std::size_t i = 0; i < wrong.size(); ++i)
    EXPECT_EQ(messages[i], "some.model: is not a SentencePiece model, or a damaged one") << i;
}

TEST_F(SentencePieceTest, DescriptionTellsModelsApart) {
  const SentencePieceTokenizer a(unigram(), "a"), again(unigram(), "b"), other(byte_pairs(), "c");
  EXPECT_EQ(a.description(), again.description());
  EXPECT_NE(a.description(), other.description());
  std::string altered = unigram();
  altered[altered.size() / 3] ^= 1;
  EXPECT_NE(a.description(), SentencePieceTokenizer(altered, "d").description());
  EXPECT_EQ(a.model(), unigram());
  EXPECT_EQ(ByteTokenizer().model(), "");
}

}  // namespace
}  // namespace longspan
