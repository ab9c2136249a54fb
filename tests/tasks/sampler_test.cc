#include "longspan/tasks/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/io/scratch_folder.h"

namespace longspan::tasks {
namespace {

TEST(ExampleSampler, ReadsEveryExampleOnceAPass) {
  ExampleSampler sampler(7, 3, 1);
  std::vector<int64_t> order;
  for (int64_t step = 0; step < 14; ++step) {
    const auto rows = sampler.rows(step);
    order.insert(order.end(), rows.begin(), rows.end());
  }
  std::vector<int64_t> all(7);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<int64_t>> passes;
  for (auto at = order.begin(); at != order.end(); at += 7) {
    passes.emplace_back(at, at + 7);
    EXPECT_TRUE(std::is_permutation(at, at + 7, all.begin()));
  }
  EXPECT_NE(passes[0], passes[1]);
}

TEST(ExampleSampler, NeedsTheNumberOfTheStepAlone) {
  ExampleSampler whole(10, 4, 5), later(10, 4, 5), other(10, 4, 6);
  std::vector<std::vector<int64_t>> steps;
  for (int64_t step = 0; step < 9; ++step) steps.push_back(whole.rows(step));
  for (const int64_t step : {8, 2, 3}) EXPECT_EQ(later.rows(step), steps[static_cast<std::size_t>(step)]);
  EXPECT_NE(other.rows(0), steps[0]);
}

TEST(ExampleSampler, RefusesNothing) {
  EXPECT_EQ(error_of([] { ExampleSampler(0, 1, 0); }), "sampler: examples and batch must be at least 1, got 0 and 1");
}

}  // namespace
}  // namespace longspan::tasks
