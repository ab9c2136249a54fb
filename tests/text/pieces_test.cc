#include "longspan/text/pieces.h"

#include <gtest/gtest.h>

#include "longspan/text/byte_tokenizer.h"
#include "longspan/text/sentencepiece_tokenizer.h"
#include "tests/text/sentencepiece_models.h"

namespace longspan {
namespace {

/// The pieces of a text that arrives `chunk` bytes at a time.
std::vector<std::string> pieces_of(const Tokenizer& tokenizer, std::string_view text, std::size_t chunk) {
  std::vector<std::string> out;
  Pieces pieces(tokenizer);
  std::string_view piece;
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    pieces.push(text.substr(at, chunk));
    while (pieces.next(piece)) out.emplace_back(piece);
    EXPECT_LE(pieces.waiting(), kLongestPiece);
  }
  pieces.finish();
  while (pieces.next(piece)) out.emplace_back(piece);
  EXPECT_EQ(pieces.waiting(), 0u);
  return out;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string out;
  for (const auto& piece : pieces) out += piece;
  return out;
}

TEST(Pieces, BytesAreCutWhereTheyArrive) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(pieces_of(tokenizer, "abcde", 2), (std::vector<std::string>{"ab", "cd", "e"}));
  EXPECT_TRUE(pieces_of(tokenizer, "", 2).empty());
}

TEST(Pieces, LinesHoweverTheyArrive) {
  const SentencePieceTokenizer tokenizer(byte_pair_model(), "model");
  const std::string text = "the sea\n\nnaïve\r\n was calm\nno sail";
  const std::vector<std::string> lines = {"the sea\n", "\n", "naïve\r\n", " was calm\n", "no sail"};
  for (std::size_t chunk = 1; chunk <= text.size(); ++chunk)
    EXPECT_EQ(pieces_of(tokenizer, text, chunk), lines) << chunk;
  std::vector<uint32_t> tokens;
  for (const auto& line : lines)
    for (const uint32_t token : tokenizer.encode(line)) tokens.push_back(token);
  EXPECT_EQ(tokens, tokenizer.encode(text));
}

TEST(Pieces, LongLinesAreCutAtABlankOrACharacter) {
  const SentencePieceTokenizer tokenizer(character_model(), "model");
  const auto sizes = [&](const std::string& text) {
    std::vector<std::size_t> first;
    for (const std::size_t chunk : {std::size_t{4093}, kLongestPiece, 3 * kLongestPiece}) {
      const auto pieces = pieces_of(tokenizer, text, chunk);
      EXPECT_EQ(joined(pieces), text);
      std::vector<std::size_t> own;
      for (const auto& piece : pieces) own.push_back(piece.size());
      if (first.empty()) first = own;
      EXPECT_EQ(own, first) << chunk;
    }
    return first;
  };
  const auto letters = [](std::size_t count) { return std::string(count, 'a'); };
  const std::size_t k = kLongestPiece;
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes(letters(k)), Sizes{k});
  EXPECT_EQ(sizes(letters(k - 1) + "\n" + letters(3)), (Sizes{k, 3}));
  EXPECT_EQ(sizes(letters(k + 1)), (Sizes{k, 1}));
  EXPECT_EQ(sizes(letters(k - 10) + " " + letters(4) + " " + letters(100)), (Sizes{k - 5, 101}));
  EXPECT_EQ(sizes(letters(10) + " " + letters(2 * k)), (Sizes{10, k, k, 1}));
  EXPECT_EQ(sizes(" " + letters(k)), (Sizes{k, 1})) << "a blank at the start is no place to cut";
  EXPECT_EQ(sizes(letters(k - 1) + "é" + letters(5)), (Sizes{k - 1, 7})) << "not within a character";
}

}  // namespace
}  // namespace longspan
