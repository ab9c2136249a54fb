#include "longspan/base/pairwise.h"

#include <gtest/gtest.h>

namespace longspan {
namespace {

bool holds(const std::vector<Assignment>& rows, std::size_t f, std::size_t a, std::size_t g, std::size_t b) {
  for (const Assignment& row : rows)
    if (row[f] == a && row[g] == b) return true;
  return false;
}

TEST(Pairwise, EveryTwoValuesMeet) {
  const std::vector<std::size_t> sizes = {2, 6, 3, 4, 1, 3};
  const auto rows = pairwise(sizes, [](const Assignment&) { return true; });
  for (std::size_t f = 0; f < sizes.size(); ++f)
    for (std::size_t g = f + 1; g < sizes.size(); ++g)
      for (std::size_t a = 0; a < sizes[f]; ++a)
        for (std::size_t b = 0; b < sizes[g]; ++b)
          EXPECT_TRUE(holds(rows, f, a, g, b)) << f << "=" << a << " " << g << "=" << b;
  EXPECT_EQ(rows.front(), Assignment(sizes.size(), 0));
  EXPECT_GE(rows.size(), 24u) << "the two largest factors alone";
  EXPECT_LE(rows.size(), 36u) << "of 432";
  EXPECT_EQ(pairwise(sizes, [](const Assignment&) { return true; }), rows);
}

// A pair that every completion forbids is left out, one that a lucky third value allows is not.
TEST(Pairwise, KeepsToWhatIsAllowed) {
  const auto allowed = [](const Assignment& row) {
    if (row[0] == 1 && row[1] == 2) return false;                             // never
    return !(row[0] == 1 && row[1] == 1 && row[2] != kUnset && row[2] != 2);  // only with the third at 2
  };
  const auto rows = pairwise({2, 3, 3}, allowed);
  for (const Assignment& row : rows) EXPECT_TRUE(allowed(row));
  EXPECT_FALSE(holds(rows, 0, 1, 1, 2));
  EXPECT_TRUE(holds(rows, 0, 1, 1, 1));
  EXPECT_TRUE(holds(rows, 1, 2, 2, 2));
}

}  // namespace
}  // namespace longspan
