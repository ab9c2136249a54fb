// The main of tests that ctest runs once for every SIMD target, each forced by LONGSPAN_SIMD: exit status 77, which
// ctest reports as skipped, when this machine does not run the target; else that of the tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "longspan/simd/target.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const char* forced = std::getenv("LONGSPAN_SIMD");
  const std::string target = forced ? forced : "";
  const auto available = longspan::simd::available_targets();
  if (!target.empty() && std::find(available.begin(), available.end(), target) == available.end()) return kSkipped;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
