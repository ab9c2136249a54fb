// What tokenizer.json may hold, and what is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "longspan/base/check.h"
#include "longspan/text/subword/vocabulary_files.h"
#include "tests/text/subword/small_tokenizers.h"

namespace longspan {
namespace {

using Tokens = std::vector<uint32_t>;

std::string error_of(const Json& json) {
  try {
    read_tokenizer_json(json.dump(), "f.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// The message for a good file with one field changed.
std::string error_with(const char* pointer, Json value) {
  Json json = byte_level_json({{"a", "b"}});
  json[Json::json_pointer(pointer)] = std::move(value);
  return error_of(json);
}

TEST(TokenizerJson, UnsupportedFieldsAreRefusedByName) {
  EXPECT_EQ(error_of(byte_level_json({{"a", "b"}})), "");
  EXPECT_EQ(error_with("/more", 1), "f.json: the field 'more' is not supported");
  EXPECT_EQ(error_with("/version", "2.0"), "f.json: version must be 1.0, got '2.0'");
  EXPECT_EQ(error_with("/truncation", {{"max_length", 5}}), "f.json: truncation is not supported, set it to null");
  EXPECT_EQ(error_with("/padding", {{"pad_id", 5}}), "f.json: padding is not supported, set it to null");
  EXPECT_EQ(error_with("/model/dropout", 0.1), "f.json: model: dropout is not supported, set it to null");
  EXPECT_EQ(error_with("/model/dropout", nullptr), "");
  EXPECT_EQ(error_with("/model/new_field", true), "f.json: model: the field 'new_field' is not supported");
  EXPECT_EQ(error_with("/model/type", "Words"),
            "f.json: model: the type 'Words' is not supported, expected one of BPE, Unigram, WordLevel, WordPiece");
  EXPECT_EQ(error_with("/model/merges", {"a"}),
            "f.json: model: merges[0]: expected two tokens with a blank between, got 'a'");
  EXPECT_EQ(error_with("/model/vocab/a", -1),
            "f.json: model: vocab: 'a' must be a whole number from 0 to 4294967295, got -1");
  EXPECT_EQ(error_with("/model/vocab/a", 4000000000u),
            "f.json: model: vocab: the number of the token 'a' must be below 4194304, got 4000000000");
  EXPECT_EQ(error_with("/pre_tokenizer/type", "Sentences").substr(0, 72),
            "f.json: pre_tokenizer: the type 'Sentences' is not supported, expected o");
  EXPECT_EQ(error_with("/pre_tokenizer", {{"type", "CharDelimiterSplit"}, {"delimiter", "ab"}}),
            "f.json: pre_tokenizer: delimiter must be one character, got 'ab'");
  EXPECT_EQ(error_with("/pre_tokenizer", {{"type", "FixedLength"}, {"length", 0}}),
            "f.json: pre_tokenizer: length must be at least 1, got 0");
  EXPECT_EQ(error_with("/pre_tokenizer",
                       {{"type", "Sequence"}, {"pretokenizers", {{{"type", "ByteLevel"}}, {{"type", "Whitespace"}}}}}),
            "f.json: pre_tokenizer[1]: ByteLevel must be the last pre-tokenizer");
  EXPECT_EQ(error_with("/normalizer", {{"type", "ByteLevel"}}).substr(0, 62),
            "f.json: normalizer: the type 'ByteLevel' is not supported, exp");
  EXPECT_EQ(error_with("/decoder", {{"type", "WordPiece"}, {"prefix", "##"}}),
            "f.json: decoder: ByteLevel is expected where it is the pre-tokenizer, and there alone");
  EXPECT_EQ(error_with("/post_processor", {{"type", "BertProcessing"}, {"sep", {"[SEP]", 1}}}),
            "f.json: post_processor: cls is missing");
  EXPECT_EQ(error_with("/post_processor", {{"type", "BertProcessing"}, {"sep", {"[SEP]", 1}}, {"cls", {"[CLS]", 999}}}),
            "f.json: post_processor: the number of a special token must be below 258, got 999");
  EXPECT_EQ(error_with("/added_tokens/0/content", "a"),
            "f.json: added_tokens[0]: 'a' has the number 257, but 97 in the model's vocabulary");
  EXPECT_EQ(error_with("/added_tokens/0/extra", 0), "f.json: added_tokens[0]: the field 'extra' is not supported");
}

std::unique_ptr<SubwordTokenizer> unigram(std::optional<int> unknown) {
  const Json json = {
      {"version", "1.0"},
      {"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}}},
      {"decoder", {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}}},
      {"model",
       {{"type", "Unigram"},
        {"unk_id", unknown ? Json(*unknown) : Json(nullptr)},
        {"vocab",
         Json::parse(R"([["<unk>", 0.0], ["▁", -2.0], ["a", -2.5], ["b", -2.5], ["ab", -4.0], ["▁a", -4.4]])")}}}};
  return read_tokenizer_json(json.dump(), "unigram");
}

TEST(TokenizerJson, Unigram) {
  const auto tokenizer = unigram(0);
  EXPECT_EQ(tokenizer->encode("ab"), (Tokens{1, 4})) << "-6 beats -6.9";
  EXPECT_EQ(tokenizer->encode("aa b"), (Tokens{5, 2, 1, 3})) << "-6.9 beats -7";
  EXPECT_EQ(tokenizer->encode("zz"), (Tokens{1, 0})) << "unknown characters are one token";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab a")), "ab a");
  EXPECT_EQ(tokenizer->encode_aligned("ab  a").source_bytes, (Tokens{0, 2, 1, 2}));
  EXPECT_THROW(tokenizer->encode("a\xff"), InputError);
  EXPECT_THROW(unigram({})->encode("z"), InputError);
}

std::unique_ptr<SubwordTokenizer> wordpiece() {
  const Json json = {{"version", "1.0"},
                     {"normalizer",
                      {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", true},
                       {"strip_accents", nullptr},
                       {"lowercase", true}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                     {"model",
                      {{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 6},
                       {"vocab",
                        {{"[UNK]", 0},
                         {"un", 1},
                         {"##aff", 2},
                         {"##able", 3},
                         {"a", 4},
                         {"##b", 5},
                         {",", 6},
                         {"中", 7},
                         {"文", 8},
                         {"i", 9}}}}}};
  return read_tokenizer_json(json.dump(), "wordpiece");
}

TEST(TokenizerJson, WordPiece) {
  const auto tokenizer = wordpiece();
  EXPECT_EQ(tokenizer->encode("unable"), (Tokens{1, 3}));
  EXPECT_EQ(tokenizer->encode("unaffable"), (Tokens{0})) << "longer than six characters";
  EXPECT_EQ(tokenizer->encode("unz ÁB,中文"), (Tokens{0, 4, 5, 6, 7, 8}));
  EXPECT_EQ(tokenizer->encode(std::string_view("a\0\u200Bb", 6)), (Tokens{4, 5})) << "controls go";
  EXPECT_EQ(tokenizer->encode("İ"), (Tokens{9})) << "lower case of two characters, the second a mark";
  const Encoding encoding = tokenizer->encode_aligned("  Áb , 中");
  EXPECT_EQ(encoding.tokens, (Tokens{4, 5, 6, 7}));
  EXPECT_EQ(encoding.source_bytes, (Tokens{4, 1, 2, 4}));
  EXPECT_EQ(tokenizer->decode(encoding.tokens), "ab, 中");
}

TEST(TokenizerJson, WordLevel) {
  Json json = {{"version", "1.0"},
               {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
               {"model", {{"type", "WordLevel"}, {"vocab", {{"a", 0}, {"b", 1}, {"?", 2}}}, {"unk_token", "?"}}}};
  const auto tokenizer = read_tokenizer_json(json.dump(), "words");
  EXPECT_EQ(tokenizer->name(), "wordlevel");
  EXPECT_EQ(tokenizer->encode(" b\ta c"), (Tokens{1, 0, 2}));
  EXPECT_EQ(tokenizer->encode_aligned(" b\ta c").source_bytes, (Tokens{2, 2, 2}));
  EXPECT_EQ(tokenizer->decode(Tokens{1, 0}), "b a");
  json["model"]["unk_token"] = "[UNK]";
  const auto strict = read_tokenizer_json(json.dump(), "words");
  EXPECT_EQ(strict->encode("b a"), (Tokens{1, 0}));
  try {
    strict->encode("c");
    FAIL() << "a word that is no token";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "tokenizer wordlevel: 'c' is not in the vocabulary, and neither is unk_token '[UNK]'");
  }
  json["model"].erase("type");  // as in old files
  EXPECT_EQ(read_tokenizer_json(json.dump(), "words")->name(), "wordlevel");
}

TEST(TokenizerJson, RanksAndMerges) {
  std::string ranks;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    ranks +=
        std::string{kDigits[static_cast<std::size_t>(byte >> 2)], kDigits[static_cast<std::size_t>((byte & 3) << 4)]} +
        "== " + std::to_string(byte) + "\n";
  }
  ranks += "dGg= 256\n";  // "th"
  const auto tokenizer = read_ranks(ranks, known_ranks_of("a/gpt2.tiktoken", ranks), "ranks");
  EXPECT_EQ(tokenizer->encode("th<|endoftext|>"), (Tokens{256, 257}));
  const auto again = read_ranks_file(tokenizer->model(), "saved");
  EXPECT_TRUE(is_ranks_file(tokenizer->model()));
  EXPECT_EQ(again->description(), tokenizer->description());
  EXPECT_EQ(again->encode("th the"), tokenizer->encode("th the"));
  EXPECT_THROW(known_ranks_of("some.tiktoken", ranks), InputError);
  const auto error = [&](const std::string& content) {
    try {
      read_ranks(content, known_ranks()[0], "r");
    } catch (const InputError& caught) {
      return std::string(caught.what());
    }
    return std::string();
  };
  EXPECT_EQ(error("IQ== 0\n*** 1\n"), "r:2: expected a token in base64, a blank and its rank, got '*** 1'");
  EXPECT_EQ(error("IQ== 0\nIQ== 1\n"), "r:2: this token stands twice");
  EXPECT_EQ(error("IQ== 0\n"), "r: the byte 0 has no rank");
  EXPECT_EQ(error("\x1b[2J\xff 0\n"), "r:1: expected a token in base64, a blank and its rank, got '\\x1b[2J\\xff 0'");
  EXPECT_EQ(error(std::string(4 * 2000, 'A') + " 0\n"), "r:1: a token may have at most 1024 bytes, got 6000");
  EXPECT_EQ(read_ranks("\xEF\xBB\xBF" + ranks, known_ranks()[0], "mark")->encode("th"), (Tokens{256}));

  Json vocabulary = byte_level_json({{"t", "h"}})["model"]["vocab"];
  vocabulary["<s>"] = 300;
  vocabulary["</s>"] = 301;
  EXPECT_EQ(read_merges(vocabulary.dump(), "\xEF\xBB\xBF#version: 0.2\nt h\n", "mark")->encode("th"), (Tokens{256}));
  const auto merged = read_merges(vocabulary.dump(), "#version: 0.2\nt h\n", "folder");
  EXPECT_EQ(merged->encode("th</s>"), (Tokens{256, 301}));
  EXPECT_EQ(merged->encode_special("t").tokens, (Tokens{300, 't', 301}));
  EXPECT_EQ(read_tokenizer_json(merged->model(), "saved")->description(), merged->description());
  try {
    read_merges(vocabulary.dump(), "#version: 0.2\nt h\nt \xe9\n", "folder");
    FAIL() << "merges that are not UTF-8";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("folder: merges.txt:3: the line is not UTF-8 at byte 2"));
  }
}

}  // namespace
}  // namespace longspan
