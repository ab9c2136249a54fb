#include "longspan/tasks/masking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "longspan/text/byte_tokenizer.h"
#include "tests/io/scratch_folder.h"

namespace longspan::tasks {
namespace {

using ::testing::ElementsAre;

constexpr models::SpecialTokens kSpecial{3, 0, 9, 5};
constexpr int64_t kVocabulary = 12;

/// `count` tokens of text between the two that frame a sequence.
std::vector<int32_t> sequence(int64_t count) {
  const int32_t ordinary[] = {1, 2, 4, 6, 7, 8, 10, 11};
  std::vector<int32_t> out = {static_cast<int32_t>(kSpecial.first)};
  for (int64_t i = 0; i < count; ++i) out.push_back(ordinary[i % 8]);
  out.push_back(static_cast<int32_t>(kSpecial.separator));
  return out;
}

MaskedTokens mask(const std::vector<int32_t>& tokens, const MaskingOptions& options, uint64_t stream,
                  const std::vector<uint8_t>& starts = {}) {
  return mask_tokens(tokens, starts, options, kSpecial, kVocabulary, Rng(7, stream));
}

/// Whether `count` of `trials` is within five standard deviations of what a share of `p` gives: wrong once in 10^6.
void expect_share(int64_t count, int64_t trials, double p) {
  const double n = static_cast<double>(trials);
  EXPECT_NEAR(static_cast<double>(count) / n, p, 5 * std::sqrt(p * (1 - p) / n));
}

TEST(Masking, HidesTheSharesAskedFor) {
  const auto tokens = sequence(50000);
  const MaskedTokens out = mask(tokens, {}, 1);
  int64_t hidden = 0, kept = 0, replaced = 0;
  std::map<int64_t, int64_t> by;
  for (std::size_t i = 0; i < out.places.size(); ++i) {
    const auto place = static_cast<std::size_t>(out.places[i]);
    EXPECT_EQ(out.targets[i], tokens[place]);
    if (out.tokens[place] == kSpecial.mask) {
      ++hidden;
    } else if (out.tokens[place] == tokens[place]) {
      ++kept;
    } else {
      ++replaced;
      ++by[out.tokens[place]];
    }
  }
  const auto chosen = static_cast<int64_t>(out.places.size());
  expect_share(chosen, 50000, 0.15);
  expect_share(hidden, chosen, 0.8);
  expect_share(replaced, chosen, 0.1 * 7 / 8);  // one in eight times the random token is the token itself
  expect_share(kept, chosen, 0.1 + 0.1 / 8);
  EXPECT_THAT(by, ::testing::SizeIs(8));
  for (const auto& [token, count] : by) expect_share(count, replaced, 1.0 / 8);
}

TEST(Masking, LeavesTheRestAndSpecialTokensAlone) {
  auto tokens = sequence(200);
  tokens[50] = static_cast<int32_t>(kSpecial.padding);
  const MaskingOptions all{.mask_rate = 1};
  const MaskedTokens out = mask(tokens, all, 1);
  EXPECT_EQ(out.places.size(), 199u);
  for (const std::size_t special : {std::size_t{0}, std::size_t{50}, tokens.size() - 1}) {
    EXPECT_EQ(out.tokens[special], tokens[special]);
    EXPECT_EQ(std::ranges::count(out.places, static_cast<int64_t>(special)), 0);
  }
  const MaskedTokens some = mask(tokens, {}, 1);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (std::ranges::count(some.places, static_cast<int64_t>(i)) == 0) {
      EXPECT_EQ(some.tokens[i], tokens[i]);
    }
}

TEST(Masking, IsAFunctionOfTheStreamAndThePlace) {
  const auto tokens = sequence(100);
  const MaskedTokens a = mask(tokens, {}, 1), again = mask(tokens, {}, 1), other = mask(tokens, {}, 2);
  EXPECT_EQ(a.tokens, again.tokens);
  EXPECT_EQ(a.places, again.places);
  EXPECT_NE(a.places, other.places);
  // What becomes of a token does not depend on what stands behind it.
  auto shorter = tokens;
  shorter.resize(60);
  const MaskedTokens cut = mask(shorter, {}, 1);
  for (std::size_t i = 0; i < cut.tokens.size(); ++i) EXPECT_EQ(cut.tokens[i], a.tokens[i]);
}

TEST(Masking, AlwaysHidesSomething) {
  for (uint64_t stream = 0; stream < 50; ++stream) {
    const MaskedTokens out = mask(sequence(3), {.mask_rate = 0}, stream);
    ASSERT_EQ(out.places.size(), 1u);
    EXPECT_TRUE(out.places[0] >= 1 && out.places[0] <= 3);
  }
  EXPECT_TRUE(mask(sequence(0), {}, 1).places.empty());
}

TEST(Masking, WholeWordsGoTogether) {
  const std::vector<uint8_t> starts = {1, 1, 0, 0, 1, 1, 0, 1};  // <s> aaa b cc </s>
  std::vector<int64_t> chosen(8);
  for (uint64_t stream = 0; stream < 4000; ++stream) {
    const MaskedTokens out = mask(sequence(6), {.mask_rate = 0.3, .whole_words = true}, stream, starts);
    std::vector<int64_t> is(8);
    for (const int64_t place : out.places) is[static_cast<std::size_t>(place)] = 1;
    EXPECT_TRUE(is[1] == is[2] && is[2] == is[3] && is[5] == is[6]);
    EXPECT_EQ(is[0] + is[7], 0);
    for (std::size_t i = 0; i < 8; ++i) chosen[i] += is[i];
  }
  // Each of three words with 0.3, or with a third of the 0.343 of nothing.
  for (const std::size_t word : {1, 4, 5}) expect_share(chosen[word], 4000, 0.3 + 0.343 / 3);
}

TEST(Masking, FindsWordsInBytes) {
  const std::string text = "ab  c\nd";
  const std::vector<uint32_t> bytes(text.size(), 1);
  EXPECT_THAT(word_starts(text, bytes), ElementsAre(1, 0, 1, 1, 1, 1, 1));
}

TEST(Masking, FindsWordsInPieces) {
  // "the|  reader|s| a|" and a token without bytes
  const std::string text = "the  readers a";
  EXPECT_THAT(word_starts(text, std::vector<uint32_t>{3, 8, 1, 2, 0}), ElementsAre(1, 1, 0, 1, 0));
}

TEST(Masking, RefusesWhatDoesNotAddUp) {
  EXPECT_EQ(error_of([] { validate(MaskingOptions{.mask_share = 0.8, .random_share = 0.3}); }),
            "masking: mask_share and random_share must add up to at most 1, got 0.8 and 0.3");
  EXPECT_EQ(error_of([] { validate(MaskingOptions{.mask_rate = 1.5}); }),
            "masking: mask_rate must be a number from 0 to 1, got 1.5");
  EXPECT_EQ(error_of([] { mask(sequence(2), {.whole_words = true}, 1); }),
            "masking: whole words need a mark for each of 4 tokens, got 0");
}

}  // namespace
}  // namespace longspan::tasks
