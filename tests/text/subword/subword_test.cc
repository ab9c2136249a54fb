// The whole way of a text: round trips, bytes behind tokens, pieces, special tokens, decoding.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <random>

#include "longspan/base/check.h"
#include "longspan/base/parallel.h"
#include "longspan/text/decoder.h"
#include "longspan/text/pieces.h"
#include "tests/text/subword/small_tokenizers.h"

namespace longspan {
namespace {

using Tokens = std::vector<uint32_t>;

std::string random_text(std::mt19937& draw, std::size_t parts, bool broken) {
  const std::vector<std::string> known = {"the", " the", " sea", "\n\n", "\n", "  ", "中文",          "。\n", "é",
                                          "x",   "'s",   "42",   "\r\n", "\t", ".",  "<|endoftext|>", "😀",    " "};
  std::string out;
  for (std::size_t i = 0; i < parts; ++i) {
    out += known[draw() % known.size()];
    if (broken && draw() % 5 == 0) out += static_cast<char>(draw() % 256);
  }
  return out;
}

TEST(Subword, AnyBytesComeBackAndAddUp) {
  const auto tokenizer = byte_level_tokenizer();
  EXPECT_TRUE(tokenizer->reads_any_bytes());
  std::mt19937 draw(1);
  for (int round = 0; round < 400; ++round) {
    const std::string text = random_text(draw, draw() % 30, round % 2 == 0);
    const Encoding encoding = tokenizer->encode_aligned(text);
    EXPECT_EQ(encoding.tokens, tokenizer->encode(text));
    EXPECT_EQ(tokenizer->decode(encoding.tokens), text);
    ASSERT_EQ(encoding.tokens.size(), encoding.source_bytes.size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {  // each stands for just its own bytes
      EXPECT_EQ(tokenizer->token_text(encoding.tokens[i], false), text.substr(at, encoding.source_bytes[i]));
      at += encoding.source_bytes[i];
    }
    EXPECT_EQ(at, text.size());
  }
}

TEST(Subword, WrongBytesAreWordsByThemselves) {
  const auto tokenizer = byte_level_tokenizer();
  const uint32_t the = *tokenizer->find("the");
  // The merges of "\n\n" hold within wrong bytes no more than elsewhere; around them words are as ever.
  EXPECT_EQ(tokenizer->encode("the\xff\xfethe"), (Tokens{the, 0xff, 0xfe, the}));
  EXPECT_EQ(tokenizer->encode("\xe4\xb8"), (Tokens{0xe4, 0xb8})) << "an unfinished character";
}

/// Tokens of a text that comes in portions.
Tokens streamed(const Tokenizer& tokenizer, std::string_view text, std::size_t portion) {
  Tokens out;
  Pieces pieces(tokenizer);
  const auto take = [&] {
    for (std::string_view piece; pieces.next(piece);)
      for (const uint32_t token : tokenizer.encode(piece)) out.push_back(token);
  };
  for (std::size_t at = 0; at < text.size(); at += portion) {
    pieces.push(text.substr(at, portion));
    take();
  }
  pieces.finish();
  take();
  return out;
}

TEST(Subword, TokensDoNotDependOnPieces) {
  std::mt19937 draw(2);
  for (const char* pattern : {"gpt2", "llama3", "prefix", "lower"}) {
    Json json = byte_level_json({{"t", "h"}, {"th", "e"}, {" ", "the"}, {"\n", "\n"}, {".", "\n"}, {" ", " "}});
    if (pattern == std::string("llama3")) {
      const std::string regex = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+)"
                                R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
      json["pre_tokenizer"] = {
          {"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}},
            {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
    } else if (pattern == std::string("prefix")) {
      json["pre_tokenizer"]["add_prefix_space"] = true;
    } else if (pattern == std::string("lower")) {
      json["normalizer"] = {{"type", "Lowercase"}};
    }
    const auto tokenizer = read_tokenizer_json(json.dump(), pattern);
    for (int round = 0; round < 60; ++round) {
      const std::string text = random_text(draw, 200, tokenizer->reads_any_bytes());
      Tokens whole;  // as one word after the other, without any cut: texts of less than 64 KiB are one piece
      whole = tokenizer->encode(text);
      for (const std::size_t portion : {1, 3, 7, 100})
        ASSERT_EQ(streamed(*tokenizer, text, portion), whole) << pattern << ": " << text;
    }
  }
}

TEST(Subword, StreamsGiveWordsAsTheyCome) {
  const auto tokenizer = byte_level_tokenizer();
  EXPECT_EQ(tokenizer->piece_end("the sea the", false), 7u) << "all but the last word";
  EXPECT_EQ(tokenizer->piece_end("the  ", false), 3u);
  EXPECT_EQ(tokenizer->piece_end("the.", false), 0u);
  EXPECT_EQ(tokenizer->piece_end("文。\n文", false), 7u) << "after a line, where words have no blanks";
  EXPECT_EQ(tokenizer->piece_end("文。\n\xe6", false), 0u);
  EXPECT_EQ(tokenizer->piece_end(std::string(kLongestPiece + 1, '!'), false), kLongestPiece);
}

TEST(Subword, TextWithoutBlanksIsCutBesidePunctuation) {
  const std::string word = "中文字";
  std::vector<std::pair<std::string, std::string>> merges;
  for (std::size_t i = 1; i < word.size(); ++i) merges.emplace_back(word.substr(0, i), word.substr(i, 1));
  const auto tokenizer = read_tokenizer_json(byte_level_json(merges).dump(), "words");
  const Tokens sentence = tokenizer->encode(word + "。");
  ASSERT_EQ(sentence.size(), 4u);
  std::string text;
  Tokens expected;
  while (text.size() < 2 * kLongestPiece) {
    text += word + "。";
    expected.insert(expected.end(), sentence.begin(), sentence.end());
  }
  EXPECT_EQ(tokenizer->encode(text), expected);
  EXPECT_LE(tokenizer->piece_end(text, false), std::size_t{1} << 16);
  // Not between a word and its contraction, nor into an added token.
  EXPECT_EQ(tokenizer->piece_end(std::string(100'000, 'a') + "'s.b", false), 100'002u);
  Json json = byte_level_json({});
  json["added_tokens"][0]["content"] = "[x]";
  EXPECT_GT(read_tokenizer_json(json.dump(), "added")->piece_end(text, false), std::size_t{1} << 16);
}

TEST(Subword, LongWords) {
  const auto tokenizer = byte_level_tokenizer();
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(tokenizer->encode(text).size(), text.size());
  Json json = byte_level_json({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}});
  const auto tokens = read_tokenizer_json(json.dump(), "a")->encode(text);
  EXPECT_EQ(tokens.size(), text.size() / 8);
}

std::unique_ptr<SubwordTokenizer> with_normalizer(const char* type) {
  Json json = byte_level_json({});
  json["normalizer"] = {{"type", type}};
  return read_tokenizer_json(json.dump(), type);
}

TEST(Subword, NormalFormsKeepThePlacesOfCharacters) {
  const auto bytes = [](const char* form, std::string_view text) {
    return with_normalizer(form)->encode_aligned(text).source_bytes;
  };
  EXPECT_EQ(bytes("NFD", "éàx"), (Tokens{2, 0, 0, 2, 0, 0, 1})) << "two characters, each of a letter and a mark";
  EXPECT_EQ(bytes("NFC", "e\xCC\x81xy"), (Tokens{3, 0, 1, 1})) << "one character of two";
  EXPECT_EQ(bytes("NFKC", "ﬁé"), (Tokens{3, 0, 2, 0})) << "two of one, before another";
  EXPECT_EQ(bytes("NFD", "각x"), (Tokens{3, 0, 0, 0, 0, 0, 0, 0, 0, 1})) << "three letters of one syllable";
  EXPECT_EQ(with_normalizer("NFC")->decode(with_normalizer("NFC")->encode("각")), "각");
}

TEST(Subword, MarksWithoutEndAreOrderedInTime) {
  const std::string above = "\xCC\x81", below = "\xCC\xA3";  // classes 230 and 220
  std::string text = "x", expected = "x";
  constexpr int kPairs = 250'000;
  for (int i = 0; i < kPairs; ++i) text += above + below;
  for (int i = 0; i < kPairs; ++i) expected += below;
  for (int i = 0; i < kPairs; ++i) expected += above;
  const auto tokenizer = with_normalizer("NFD");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), expected);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << "one by one it would be minutes";
}

TEST(Subword, SpecialTokens) {
  Json json = byte_level_json({});
  json["post_processor"] = {{"type", "RobertaProcessing"},
                            {"sep", {"</s>", 2}},
                            {"cls", {"<s>", 0}},
                            {"trim_offsets", true},
                            {"add_prefix_space", false}};
  const auto tokenizer = read_tokenizer_json(json.dump(), "special");
  EXPECT_EQ(tokenizer->encode("a<|endoftext|>b"), (Tokens{'a', 256, 'b'}));
  EXPECT_EQ(tokenizer->encode_special("a").tokens, (Tokens{0, 'a', 2}));
  const SpecialEncoding pair = tokenizer->encode_special("a", "b");
  EXPECT_EQ(pair.tokens, (Tokens{0, 'a', 2, 2, 'b', 2}));
  EXPECT_EQ(pair.types, (Tokens{0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(tokenizer->is_special(256));
  EXPECT_FALSE(tokenizer->is_special('a'));
}

TEST(Subword, DecodesTokenByToken) {
  const auto tokenizer = byte_level_tokenizer();
  const std::string text = "the sea\n the 中<|endoftext|>";
  std::string joined;
  TokenDecoder decoder(*tokenizer);
  for (const uint32_t token : tokenizer->encode(text)) joined += decoder.push(token);
  EXPECT_EQ(joined, text);
  EXPECT_THROW(tokenizer->decode(Tokens{100000}), InputError);
}

TEST(Subword, DescriptionTellsTokenizersApart) {
  const auto a = byte_level_tokenizer(), again = byte_level_tokenizer();
  EXPECT_EQ(a->description(), again->description());
  EXPECT_NE(a->description(), read_tokenizer_json(byte_level_json({}).dump(), "b")->description());
  EXPECT_EQ(a->name(), "bpe");
}

TEST(SubwordParallel, ThreadsShareOneTokenizer) {
  const auto tokenizer = byte_level_tokenizer();
  std::mt19937 draw(3);
  std::vector<std::string> texts;
  std::vector<Tokens> expected;
  for (int i = 0; i < 40; ++i) {
    texts.push_back(random_text(draw, 300, true));
    expected.push_back(byte_level_tokenizer()->encode(texts.back()));
  }
  std::atomic<int> wrong{0};
  ThreadPool(4).run(400, [&](int64_t i, int) {
    const auto at = static_cast<std::size_t>(i) % texts.size();
    wrong += tokenizer->encode(texts[at]) != expected[at];
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace longspan
