#include "longspan/base/bfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace longspan {
namespace {

float rounded(float x) { return static_cast<float>(BFloat16(x)); }

// Every bfloat16 is itself; between two neighbours the nearer one wins, and the even one of a tie.
TEST(BFloat16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const float low = std::bit_cast<float>(bits << 16), high = std::bit_cast<float>((bits + 1) << 16);
    ASSERT_EQ(BFloat16(low).bits, bits);
    ASSERT_EQ(BFloat16(-low).bits, bits | 0x8000);
    const float tie = std::bit_cast<float>(bits << 16 | 0x8000);
    ASSERT_EQ(rounded(tie), bits % 2 == 0 ? low : high);
    ASSERT_EQ(rounded(std::nextafter(tie, 0.0f)), low);
    ASSERT_EQ(rounded(std::nextafter(tie, INFINITY)), high);
  }
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), INFINITY);
  EXPECT_EQ(rounded(-INFINITY), -INFINITY);
}

TEST(BFloat16, NanStaysNan) {
  for (const uint32_t bits : {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu})
    EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(bits))));
}

}  // namespace
}  // namespace longspan
