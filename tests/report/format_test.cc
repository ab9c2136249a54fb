#include "longspan/report/format.h"

#include <gtest/gtest.h>

namespace longspan::report {
namespace {

TEST(Format, SignificantKeepsDigitsWithoutExponent) {
  EXPECT_EQ(significant(0.0123456, 3), "0.0123");
  EXPECT_EQ(significant(12.3456, 3), "12.3");
  EXPECT_EQ(significant(12345.6, 3), "12346");
  EXPECT_EQ(significant(-2.5, 2), "-2.5");
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(significant(1e-9, 3), "1e-09");
}

TEST(Format, SharesAreWrittenAsPercent) {
  EXPECT_EQ(percent(0.12449), "12.4 %");
  EXPECT_EQ(percent(1), "100.0 %");
}

TEST(Format, LengthsUseBinaryUnitsOnlyWhereExact) {
  EXPECT_EQ(length_label(1024), "1K");
  EXPECT_EQ(length_label(65536), "64K");
  EXPECT_EQ(length_label(1 << 20), "1M");
  EXPECT_EQ(length_label(1000), "1000");
  EXPECT_EQ(length_label(1025), "1025");
  EXPECT_EQ(length_label(512), "512");
}

TEST(Format, GroupsAndUnits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(bytes(850), "850 B");
  EXPECT_EQ(bytes(1536), "1.5 KiB");
  EXPECT_EQ(duration(41.6), "42 s");
  EXPECT_EQ(duration(185), "3 min 05 s");
  EXPECT_EQ(duration(7620), "2 h 07 min");
}

TEST(Format, PaddingCountsCharactersNotBytes) {
  EXPECT_EQ(pad_left("\xC2\xB5s", 4), "  \xC2\xB5s");
  EXPECT_EQ(pad_right("ab", 4), "ab  ");
  EXPECT_EQ(pad_right("abcde", 4), "abcde");
  EXPECT_EQ(indent("a\nb\n", 2), "  a\n  b\n");
  EXPECT_EQ(indent("a\nb", 2), "  a\n  b");
}

}  // namespace
}  // namespace longspan::report
