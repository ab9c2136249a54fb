#include "longspan/base/in_quotes.h"

#include <gtest/gtest.h>

namespace longspan {
namespace {

TEST(InQuotes, OneLineThatATerminalShows) {
  EXPECT_EQ(in_quotes("käse 中"), "'käse 中'");
  EXPECT_EQ(in_quotes("a\nb\x1b[31m\x7f"), "'a\\x0ab\\x1b[31m\\x7f'");
  EXPECT_EQ(in_quotes("\xff\xe4\xb8"), "'\\xff\\xe4\\xb8'") << "no UTF-8";
  EXPECT_EQ(in_quotes("\xc2\x9b\xc2\xa9"), "'\\xc2\\x9b©'") << "a control of Latin-1";
  EXPECT_EQ(in_quotes(std::string_view("\0", 1)), "'\\x00'");
}

TEST(InQuotes, OfALongValueTheBeginning) {
  EXPECT_EQ(in_quotes("abcdef", 4), "'abcd...' (6 bytes)");
  EXPECT_EQ(in_quotes("ab中", 4), "'ab...' (5 bytes)") << "between characters";
}

}  // namespace
}  // namespace longspan
