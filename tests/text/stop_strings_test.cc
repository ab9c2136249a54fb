#include "longspan/text/stop_strings.h"

#include <gtest/gtest.h>

#include "longspan/base/check.h"

namespace longspan {
namespace {

struct Shown {
  std::string text, stop;
  bool operator==(const Shown&) const = default;
  friend void PrintTo(const Shown& s, std::ostream* out) { *out << "'" << s.text << "' then '" << s.stop << "'"; }
};

/// What is shown of `text` when it comes `portion` bytes at a time.
Shown shown(const std::vector<std::string>& stops, const std::string& text, std::size_t portion) {
  StopStrings watch(stops);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += portion) out += watch.push(text.substr(i, portion));
  out += watch.release();
  return {out, watch.matched()};
}

TEST(StopStrings, EndTheTextWhateverThePortions) {
  struct {
    std::vector<std::string> stops;
    std::string text;
    Shown expected;
  } const cases[] = {
      {{}, "anything", {"anything", ""}},         {{"end"}, "the end of it", {"the ", "end"}},
      {{"end"}, "the en", {"the en", ""}},        {{"end"}, "eendless", {"e", "end"}},
      {{"aab"}, "aaaab", {"aa", "aab"}},          {{"ababc"}, "abababc", {"ab", "ababc"}},
      {{"abc", "b"}, "xabc", {"xa", "b"}},         // b is complete first
      {{"bc", "abc", "c"}, "xabc", {"x", "abc"}},  // they end together: no part of any is shown
      {{"abcd", "bc"}, "abce", {"a", "bc"}},      {{"\n\n"}, "a\nb\n\nc", {"a\nb", "\n\n"}},
      {{"stop"}, "stop", {"", "stop"}},           {{"x"}, "", {"", ""}},
  };
  for (const auto& [stops, text, expected] : cases)
    for (std::size_t portion = 1; portion <= text.size() + 1; ++portion)
      EXPECT_EQ(shown(stops, text, portion), expected) << text << " by " << portion;
}

TEST(StopStrings, HoldNoMoreThanMustBeHeld) {
  StopStrings watch({"\nYou:", "end"});
  EXPECT_EQ(watch.push("hello e"), "hello ");
  EXPECT_EQ(watch.held(), "e");
  EXPECT_EQ(watch.push("l\nYo"), "el");
  EXPECT_EQ(watch.held(), "\nYo");
  EXPECT_EQ(watch.push("u"), "");
  EXPECT_EQ(watch.push("r"), "\nYour");
  EXPECT_EQ(watch.push("e"), "");
  EXPECT_FALSE(watch.stopped());
  EXPECT_EQ(watch.push("nd, and more"), "");
  EXPECT_TRUE(watch.stopped());
  EXPECT_EQ(watch.push("more"), "");
  EXPECT_EQ(watch.release(), "");
}

TEST(StopStrings, AnEmptyOneIsRefused) { EXPECT_THROW(StopStrings({"a", ""}), InputError); }

}  // namespace
}  // namespace longspan
