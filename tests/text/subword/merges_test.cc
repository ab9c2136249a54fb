// BPE on its own: the merge loop, the byte alphabet, ranks, what the vocabulary lacks.
#include <gtest/gtest.h>

#include <random>

#include "longspan/base/check.h"
#include "longspan/text/subword/bpe_merge.h"
#include "longspan/text/subword/bpe_model.h"
#include "longspan/text/subword/byte_alphabet.h"
#include "tests/text/subword/small_tokenizers.h"

namespace longspan {
namespace {

/// The definition: the lowest rank, the leftmost of these, until nothing merges.
std::vector<uint32_t> merged_slowly(const MergeTable& table, std::vector<uint32_t> ids) {
  for (;;) {
    Merge best;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      if (const Merge merge = table.find(ids[i], ids[i + 1]); merge.rank < best.rank) {
        best = merge;
        place = i;
      }
    if (best.rank == UINT32_MAX) return ids;
    ids[place] = best.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

TEST(Merges, ShortAndLongFollowTheDefinition) {
  std::mt19937 draw(1);
  for (int round = 0; round < 60; ++round) {
    const uint32_t letters = 2 + draw() % 4, merges = 1 + draw() % 40;
    MergeTable table(merges);
    for (uint32_t i = 0; i < merges; ++i) {
      const uint32_t known = letters + i;
      table.set(draw() % known, draw() % known, {static_cast<uint32_t>(draw() % 10), known});  // equal ranks, too
    }
    for (const std::size_t size : {1, 2, 3, 20, 64, 65, 200}) {
      std::vector<WordToken> symbols;
      std::vector<uint32_t> ids;
      for (std::size_t i = 0; i < size; ++i) {
        ids.push_back(draw() % letters);
        symbols.push_back({ids.back(), static_cast<uint32_t>(i + 1)});
      }
      merge_symbols(table, symbols);
      std::vector<uint32_t> own;
      uint32_t end = 0;
      for (const WordToken& token : symbols) {
        EXPECT_GT(token.end, end);
        end = token.end;
        own.push_back(token.id);
      }
      EXPECT_EQ(end, size);
      EXPECT_EQ(own, merged_slowly(table, ids)) << round << " " << size;
    }
  }
}

TEST(ByteAlphabet, IsThatOfGpt2) {
  EXPECT_EQ(to_byte_alphabet(" a\n"), "ĠaĊ");
  EXPECT_EQ(to_byte_alphabet("é"), "Ã©");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_byte_alphabet(to_byte_alphabet(all)), all);
  EXPECT_EQ(from_byte_alphabet("中"), std::nullopt);
  EXPECT_EQ(from_byte_alphabet("a b"), std::nullopt) << "a blank is no character of the alphabet";
  EXPECT_EQ(from_byte_alphabet("\xC4"), std::nullopt);
}

TEST(Ranks, EveryPairWhoseBytesAreATokenMerges) {
  // "abc" is reached by "a" + "bc" although "ab" comes first elsewhere.
  Vocabulary vocabulary = byte_vocabulary();
  const uint32_t bc = add_token(vocabulary, "bc"), ab = add_token(vocabulary, "ab"), abc = add_token(vocabulary, "abc");
  const BpeModel model = BpeModel::of_ranks(std::move(vocabulary), "ranks");
  const auto ids = [&](std::string_view word) {
    std::vector<WordToken> out;
    model.encode(word, out);
    std::vector<uint32_t> own;
    for (const WordToken& token : out) own.push_back(token.id);
    return own;
  };
  EXPECT_EQ(ids("abc"), (std::vector<uint32_t>{abc}));
  EXPECT_EQ(ids("xabc"), (std::vector<uint32_t>{'x', abc}));
  EXPECT_EQ(ids("abab"), (std::vector<uint32_t>{ab, ab}));
  EXPECT_EQ(ids("bcbc"), (std::vector<uint32_t>{bc, bc}));
}

TEST(Bpe, WhatTheVocabularyLacks) {
  const auto encode = [](BpeOptions options, std::string_view word) {
    Vocabulary vocabulary;
    for (const char* name : {"<unk>", "a", "b", "ab", "<0xC3>", "<0xA9>"}) add_token(vocabulary, name);
    const BpeModel model(std::move(vocabulary), {{"a", "b"}}, std::move(options), "model");
    std::vector<WordToken> out;
    model.encode(word, out);
    std::string text;
    for (const WordToken& token : out) text += std::to_string(token.id) + ":" + std::to_string(token.end) + " ";
    return text;
  };
  EXPECT_EQ(encode({}, "abé"), "3:2 ") << "no unknown token: it is dropped";
  EXPECT_EQ(encode({.unknown = "<unk>"}, "zzab"), "0:1 0:2 3:4 ");
  EXPECT_EQ(encode({.unknown = "<unk>", .fuse_unknown = true}, "zzab"), "0:2 3:4 ");
  EXPECT_EQ(encode({.unknown = "<unk>", .byte_fallback = true}, "aé中"), "1:1 4:2 5:3 0:6 ");
}

TEST(Bpe, Refusals) {
  const auto error = [](std::vector<std::pair<std::string, std::string>> merges, BpeOptions options) {
    Vocabulary vocabulary;
    for (const char* name : {"a", "b"}) add_token(vocabulary, name);
    try {
      BpeModel model(std::move(vocabulary), merges, std::move(options), "m");
    } catch (const InputError& caught) {
      return std::string(caught.what());
    }
    return std::string();
  };
  EXPECT_EQ(error({{"a", "c"}}, {}), "m: merge 0 is of 'c', which is not in the vocabulary");
  EXPECT_EQ(error({{"a", "b"}}, {}), "m: merge 0 makes 'ab', which is not in the vocabulary");
  EXPECT_EQ(error({}, {.unknown = "?"}), "m: unk_token '?' is not in the vocabulary");
}

}  // namespace
}  // namespace longspan
