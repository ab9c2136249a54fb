// Parts of score and generate that can be tested without running them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "longspan/base/check.h"
#include "tools/longspan/stream/ledger.h"
#include "tools/longspan/stream/marks.h"
#include "tools/longspan/stream/shown_text.h"
#include "tools/longspan/stream/token_times.h"
#include "tools/longspan/stream/visible.h"

namespace longspan::tool {
namespace {

const double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Visible, ShowsAndDoesNotObey) {
  EXPECT_EQ(visible("plain text"), "plain text");
  EXPECT_EQ(visible("a\nb\tc\\\r"), "a\\nb\\tc\\\\\\r");
  EXPECT_EQ(visible(std::string_view("\x1b[31m\0\x7f", 7)), "\\x1b[31m\\x00\\x7f");
  EXPECT_EQ(visible("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(visible("\xC2\x85"), "\\xc2\\x85") << "a control character";
  EXPECT_EQ(visible("\xC0\xAF\xED\xA0\x80\xF5"), "\\xc0\\xaf\\xed\\xa0\\x80\\xf5") << "overlong, surrogate, too large";
  EXPECT_EQ(visible("\xE2\x82"), "\\xe2\\x82");
  EXPECT_EQ(from_whole_character("\x82\xACx"), "x");
  EXPECT_EQ(from_whole_character("\xE2\x82\xAC"), "\xE2\x82\xAC");
}

TEST(Ledger, LinesOffsetsAndSums) {
  Ledger ledger;
  EXPECT_FALSE(ledger.add("a", kNone));
  EXPECT_FALSE(ledger.add("b", 1.5));
  const auto first = ledger.add("c\n", 0.25);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->line, 1);
  EXPECT_EQ(first->sums.bytes, 4);
  EXPECT_EQ(first->sums.tokens, 3);
  EXPECT_EQ(first->sums.predicted_bytes, 3);
  EXPECT_EQ(first->sums.nats, 1.75);
  EXPECT_EQ(first->sums.log_likelihood(), -1.75);
  EXPECT_EQ(ledger.offset(), 4);
  EXPECT_EQ(ledger.open_line().line, 2);
  EXPECT_EQ(ledger.open_line().offset, 4);
  EXPECT_EQ(ledger.context(), "abc\n");
  EXPECT_TRUE(TextSums().bits_per_byte().is_null());
}

TEST(Ledger, GoesOnFromItsNote) {
  Ledger ledger;
  for (int i = 0; i < 100; ++i) ledger.add(i % 7 == 6 ? "\n" : "\xFF", i == 0 ? kNone : 0.1 * i);
  Ledger back(ledger.note(), "file");
  EXPECT_EQ(back.note(), ledger.note());
  EXPECT_EQ(back.context(), ledger.context());
  EXPECT_EQ(back.context().size(), Ledger::kContext);
  for (int i = 0; i < 9; ++i) {
    const auto a = ledger.add(i == 8 ? "\n" : "x", 0.3), b = back.add(i == 8 ? "\n" : "x", 0.3);
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a) {
      EXPECT_EQ(a->sums.nats, b->sums.nats) << "bit for bit";
    }
  }
  for (const char* wrong :
       {"", "[]", R"({"bytes": -1})", R"({"context": "0g"})", R"({"context": "abc"})", R"({"x": 1})"})
    EXPECT_THROW(Ledger(wrong, "file"), InputError) << wrong;
}

TEST(TopMarks, KeepTheMostSurprisingAndTheEarlierOfEquals) {
  TopMarks none(0);
  EXPECT_FALSE(none.wants(1e9));
  TopMarks top(3);
  for (const auto& [offset, bits] :
       std::vector<std::pair<int64_t, double>>{{0, 2}, {1, 5}, {2, 1}, {3, 2}, {4, 7}, {5, 2}})
    top.add({offset, 1, bits, "", ""});
  std::vector<int64_t> offsets;
  for (const Mark& mark : top.sorted()) offsets.push_back(mark.offset);
  EXPECT_EQ(offsets, (std::vector<int64_t>{4, 1, 0}));
}

TEST(Marks, AreOneLine) {
  const Mark mark = {1042, 17, 9.808, "\x80was\nca", "l"};
  EXPECT_EQ(to_line(mark, false), "offset       1042  line      17    9.81 bits  was\\nca[l]");
  EXPECT_NE(to_line(mark, true).find("\x1b[1;31ml\x1b[0m"), std::string::npos);
}

TEST(TokenTimes, FirstAndLastThousand) {
  TokenTimes times;
  EXPECT_EQ(times.first(), 0);
  EXPECT_EQ(times.last(), 0);
  times.add(500, 1e-3);  // 2 microseconds each
  EXPECT_NEAR(times.first(), 2, 1e-12);
  EXPECT_NEAR(times.last(), 2, 1e-12);
  times.add(1000, 4e-3);
  EXPECT_NEAR(times.first(), 3, 1e-12);
  for (int i = 0; i < 50; ++i) times.add(512, 512e-6);
  times.add(10, 110e-6);
  EXPECT_NEAR(times.first(), 3, 1e-12);
  EXPECT_NEAR(times.last(), (110 + 990) / 1000.0, 1e-12);
}

TEST(ShownText, WholeCharactersAndNoPartOfAStopString) {
  ShownText text({"\xE2\x82\xAC!"});
  EXPECT_EQ(text.push("a\xE2"), "a");
  EXPECT_EQ(text.held(), "\xE2");
  EXPECT_EQ(text.push("\x82\xAC"), "");
  ShownText next({});
  EXPECT_EQ(next.push(text.held()), "\xE2\x82\xAC") << "nothing to wait for without the stop string";
  EXPECT_EQ(text.push("!b"), "");
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(text.stop(), "\xE2\x82\xAC!");
  EXPECT_EQ(text.release(), "");
  ShownText cut({});
  EXPECT_EQ(cut.push("x\xF0\x9F"), "x");
  EXPECT_EQ(cut.release(), "\xF0\x9F");
}

}  // namespace
}  // namespace longspan::tool
