#include "longspan/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace longspan {
namespace {

constexpr auto kValid = std::string_view::npos;

/// The character by the rule of RFC 3629, without its ranges of bytes: what decodes to a number that has no shorter
/// form.
bool is_character(const std::string& text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = at(0) < 0x80 ? 1 : at(0) >> 5 == 6 ? 2 : at(0) >> 4 == 14 ? 3 : at(0) >> 3 == 30 ? 4 : 0;
  if (length != text.size()) return false;
  uint32_t number = length == 1 ? at(0) : at(0) & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (at(i) >> 6 != 2) return false;
    number = number << 6 | (at(i) & 63);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return number >= kLeast[length] && number <= 0x10FFFF && !(number >= 0xD800 && number <= 0xDFFF);
}

TEST(Utf8, BordersOfCharacters) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";  // one to four bytes, and one more
  const std::size_t begin[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11}, end[] = {0, 1, 3, 3, 6, 6, 6, 10, 10, 10, 10, 11};
  for (std::size_t at = 0; at <= text.size(); ++at) {
    EXPECT_EQ(character_begin(text, at), begin[at]) << at;
    EXPECT_EQ(character_end(text, at), end[at]) << at;
  }
  EXPECT_EQ(count_characters(text), 5u);
  EXPECT_EQ(count_characters(""), 0u);
  // What is no UTF-8 has a border at every byte.
  const std::string broken = "\xE2\x82x\x80\x80";
  for (std::size_t at = 0; at <= broken.size(); ++at) {
    EXPECT_EQ(character_begin(broken, at), at);
    EXPECT_EQ(character_end(broken, at), at);
  }
  EXPECT_EQ(count_characters(broken), 5u);
}

TEST(Utf8, CharactersAndWhatIsNone) {
  const unsigned char edges[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
  std::string text;
  for (int first = 0; first < 256; ++first) {
    text.assign(1, static_cast<char>(first));
    EXPECT_EQ(invalid_utf8(text), is_character(text) ? kValid : 0) << first;
    if (first < 0x80) continue;  // else the next bytes are characters of their own
    for (int second = 0; second < 256; ++second) {
      text.resize(1);
      text += static_cast<char>(second);
      ASSERT_EQ(invalid_utf8(text) == kValid, is_character(text)) << first << " " << second;
      if (first < 0xE0 || second < 0x80 || second > 0xBF) continue;
      for (const unsigned char third : edges) {
        text.resize(2);
        text += static_cast<char>(third);
        ASSERT_EQ(invalid_utf8(text) == kValid, is_character(text)) << first << " " << second << " " << int{third};
        if (first < 0xF0) continue;
        for (const unsigned char fourth : edges) {
          text.resize(3);
          text += static_cast<char>(fourth);
          ASSERT_EQ(invalid_utf8(text) == kValid, is_character(text)) << first << " " << second << " " << int{third};
        }
      }
    }
  }
}

TEST(Utf8, NamesThePlace) {
  const std::string text = "naïve 😀 text that is longer than a few words, so that it is read eight bytes at a time";
  EXPECT_EQ(invalid_utf8(text), kValid);
  EXPECT_EQ(invalid_utf8(""), kValid);
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    EXPECT_EQ(invalid_utf8(text.substr(0, at) + "\xFF" + text.substr(at)), at);
    EXPECT_EQ(invalid_utf8(text.substr(0, at)), kValid);
  }
  EXPECT_EQ(invalid_utf8("the \xF0\x9F\x98"), 4u) << "unfinished";
}

TEST(Utf8, HoldsBackOnlyUnfinishedCharacters) {
  EXPECT_EQ(whole_characters(""), 0u);
  EXPECT_EQ(whole_characters("abc"), 3u);
  EXPECT_EQ(whole_characters("a\xC3"), 1u);
  EXPECT_EQ(whole_characters("a\xC3\xA9"), 3u);
  EXPECT_EQ(whole_characters("\xE2\x82"), 0u);
  EXPECT_EQ(whole_characters("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(whole_characters("x\xF0\x9F\x98"), 1u);
  EXPECT_EQ(whole_characters("x\xF0\x9F\x98\x80"), 5u);
  EXPECT_EQ(whole_characters("\x80\x80\x80\x80"), 4u);  // no UTF-8: passed through
  EXPECT_EQ(whole_characters("\xFF\x41"), 2u);
}

}  // namespace
}  // namespace longspan
