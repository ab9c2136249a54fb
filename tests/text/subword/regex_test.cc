#include "longspan/text/subword/regex.h"

#include <gtest/gtest.h>

#include <random>

#include "longspan/base/check.h"
#include "longspan/text/subword/split_patterns.h"

namespace longspan {
namespace {

using Strings = std::vector<std::string>;

Strings matches(std::string_view pattern, std::string_view text, RegexFlavour flavour = RegexFlavour::oniguruma) {
  const Regex regex(pattern, flavour, "test");
  Regex::Scratch scratch;
  Strings out;
  regex.for_each(text, scratch,
                 [&](std::size_t begin, std::size_t end) { out.emplace_back(text.substr(begin, end - begin)); });
  return out;
}

std::string error_of(std::string_view pattern) {
  try {
    Regex(pattern, RegexFlavour::oniguruma, "file");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Regex, PublishedPatterns) {
  EXPECT_EQ(matches(kGpt2Pattern, "I'll see  2 naïve\n\nships's."),
            (Strings{"I", "'ll", " see", " ", " 2", " naïve", "\n", "\n", "ships", "'s", "."}));
  EXPECT_EQ(matches(kCl100kPattern, "I'LL see  12345.\n\nx  ", RegexFlavour::rust),
            (Strings{"I", "'LL", " see", " ", " ", "123", "45", ".\n\n", "x", "  "}));
  EXPECT_EQ(matches(kO200kPattern, "HelloWorld's ABC/def\n", RegexFlavour::rust),
            (Strings{"Hello", "World's", " ABC", "/def", "\n"}));
}

TEST(Regex, PlainWordsAreThoseOfThePatterns) {
  const std::string_view parts[] = {" ", "a", "The", "sea", "XY", "'s", "'", "é", "1", "\n", "_", ".", "\u0301"};
  std::mt19937 draw(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = 0; i < 12; ++i) text += parts[draw() % std::size(parts)];
    for (const auto pattern : {kGpt2Pattern, kCl100kPattern, kO200kPattern}) {
      std::size_t at = 0;
      for (const std::string& match : matches(pattern, text, RegexFlavour::rust)) {
        const std::size_t end = plain_word_end(text, at);
        if (end > 0) {
          ASSERT_EQ(text.substr(at, end - at), match) << text;
        }
        at += match.size();
      }
      ASSERT_EQ(at, text.size());
    }
  }
}

TEST(Regex, ClassesAreThoseOfTheOriginals) {
  EXPECT_EQ(matches("\\s", "a\u180Eb\u0085c\u2003"), (Strings{"\u0085", "\u2003"})) << "U+180E is no blank any more";
  EXPECT_EQ(matches("[^\\s]+", "a\u180Eb c"), (Strings{"a\u180Eb", "c"}));
  EXPECT_EQ(matches("\\w+", "e\u0301_1\u203F ½"), (Strings{"e\u0301_1\u203F", "½"}));
  EXPECT_EQ(matches("\\w+", "e\u0301_1\u203F ½", RegexFlavour::rust), (Strings{"e\u0301_1\u203F"})) << "no fractions";
  EXPECT_EQ(matches("\\w+", "a\u200Db"), (Strings{"a", "b"}));
  EXPECT_EQ(matches("\\w+", "a\u200Db", RegexFlavour::rust), (Strings{"a\u200Db"}));
  EXPECT_EQ(matches("\\p{Han}+", "中文。ー"), (Strings{"中文"})) << "a script without its extensions";
  EXPECT_EQ(matches("a$", "a\na"), (Strings{"a", "a"}));
  EXPECT_EQ(matches("a$", "a\na", RegexFlavour::rust), (Strings{"a"}));
  EXPECT_EQ(matches("\\u4e2d|x", "x中"), (Strings{"x", "中"}));
  EXPECT_EQ(matches("b*", "abba"), (Strings{"", "bb", ""}));
}

TEST(Regex, WhatMeansSomethingElseIsRefused) {
  EXPECT_EQ(error_of("a\\b"), "file: the pattern 'a\\b' uses '\\b', which is not supported");
  EXPECT_EQ(error_of("[a&&b]"), "file: the pattern '[a&&b]' uses '&&' within a class, which is not supported");
  EXPECT_EQ(error_of("[a[b]]"), "file: the pattern '[a[b]]' uses '[' within a class, which is not supported");
  EXPECT_EQ(error_of("(?m:a)"), "file: the pattern '(?m:a)' uses a group of the kind '(?m', which is not supported");
  EXPECT_EQ(error_of("a{2}+"), "file: the pattern 'a{2}+' uses '+' after '{...}', which is not supported");
  EXPECT_EQ(error_of("[\\W]"), "file: the pattern '[\\W]' uses '\\W' within a class, which is not supported");
  EXPECT_EQ(error_of("(*UTF)a"), "file: the pattern '(*UTF)a' uses '(*', which is not supported");
  EXPECT_NE(error_of("(a").find("file: the pattern '(a' cannot be used: "), std::string::npos);
  EXPECT_NE(error_of("\\p{Nonsense}").find("cannot be used"), std::string::npos);
}

TEST(Regex, LongTextsNeedNoStack) {
  const std::string text(std::size_t{1} << 20, 'a');
  EXPECT_EQ(matches(kGpt2Pattern, text).size(), 1u);
  EXPECT_EQ(matches("(?:a|b)+", text).size(), 1u) << "a step back is kept for every letter";
  EXPECT_EQ(matches(kCl100kPattern, std::string(std::size_t{1} << 20, ' ') + "x", RegexFlavour::rust).size(), 2u);
  const Regex endless("(?:a|aa)+$", RegexFlavour::oniguruma, "test");
  Regex::Scratch scratch;
  std::size_t begin = 0, end = 0;
  EXPECT_THROW(endless.find(std::string(80, 'a') + "b", 0, begin, end, scratch), RunError);
}

}  // namespace
}  // namespace longspan
