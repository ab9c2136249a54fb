#include "longspan/base/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longspan {
namespace {

// The third known answer of Philox4x32-10: seed, row, head, query and key stand where the definition says.
TEST(Dropout, WordsAreTheBlockOfTheElement) {
  const uint64_t seed = 0x299f31d0a4093822;
  const std::array<uint32_t, 4> known = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  const uint32_t i = 0x243f6a88, group = 0x85a308d3, head = 0x13198a2e, row = 0x03707344;
  EXPECT_EQ((Dropout{0.5, seed}.words(row, head, i, group)), known);
  // The keys 4 group to 4 group + 3 take one word each: kept from the threshold on. The group of a key has 30 bits.
  const uint32_t key_group = group >> 2;
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t word = Dropout{0.5, seed}.words(row, head, i, key_group)[j];
    const Dropout just_kept{word * 0x1p-32, seed}, just_dropped{(word + 1.0) * 0x1p-32, seed};
    EXPECT_TRUE(just_kept.keeps(row, head, i, 4 * key_group + j));
    EXPECT_FALSE(just_dropped.keeps(row, head, i, 4 * key_group + j));
  }
}

TEST(Dropout, Threshold) {
  EXPECT_EQ((Dropout{0.0, 1}.threshold()), 0u);
  EXPECT_EQ((Dropout{0.5, 1}.threshold()), 0x80000000u);
  EXPECT_EQ((Dropout{0.1, 1}.threshold()), 429496729u);  // floor(429496729.6)
  EXPECT_EQ((Dropout{std::nextafter(1.0, 0.0), 1}.threshold()), 0xFFFFFFFFu);
  EXPECT_FALSE((Dropout{0.0, 1}.active()));
}

// The number of kept elements is binomial: within five standard deviations. Neighbours in each argument are
// independent: they agree as often as independent coins.
TEST(Dropout, RateAndIndependence) {
  const uint32_t size = 64;
  const double n = size * size;
  for (const double p : {0.1, 0.5, 0.9}) {
    const Dropout dropout{p, 7}, other_seed{p, 8};
    double kept = 0;
    std::vector<double> agree(5, 0.0);
    for (uint32_t i = 0; i < size; ++i)
      for (uint32_t j = 0; j < size; ++j) {
        const bool here = dropout.keeps(2, 3, i, j);
        kept += here;
        agree[0] += here == dropout.keeps(3, 3, i, j);
        agree[1] += here == dropout.keeps(2, 4, i, j);
        agree[2] += here == dropout.keeps(2, 3, i + size, j);
        agree[3] += here == dropout.keeps(2, 3, i, j + size);
        agree[4] += here == other_seed.keeps(2, 3, i, j);
      }
    EXPECT_NEAR(kept, n * (1 - p), 5 * std::sqrt(n * p * (1 - p)));
    const double same = p * p + (1 - p) * (1 - p);
    for (const double count : agree) EXPECT_NEAR(count, n * same, 5 * std::sqrt(n * same * (1 - same)));
  }
}

}  // namespace
}  // namespace longspan
