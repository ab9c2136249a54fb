#include "longspan/train/sums.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/small_models.h"

namespace longspan::train {
namespace {

TEST(Sums, EqualTheFloat64Sum) {
  torch::manual_seed(1);
  for (int64_t size : {0, 1, 7, 8, 9, 4095, 4096, 4097, 20011}) {
    const at::Tensor values = torch::randn({size});
    long double total = 0, squares = 0, magnitude = 0;
    for (int64_t i = 0; i < size; ++i) {
      const long double v = values[i].item<float>();
      total += v;
      squares += v * v;
      magnitude += std::abs(v);
    }
    const double bound = testing::sum_bound<double>(size);
    EXPECT_NEAR(ordered_sum(values), static_cast<double>(total), bound * static_cast<double>(magnitude));
    EXPECT_NEAR(ordered_sum_of_squares(values), static_cast<double>(squares), bound * static_cast<double>(squares));
    EXPECT_EQ(ordered_sum(values.to(torch::kDouble)), ordered_sum(values));
  }
}

TEST(Sums, BitsDoNotDependOnLayoutOrThreads) {
  torch::manual_seed(2);
  const at::Tensor values = torch::randn({301, 97});
  const double one = ordered_sum(values);
  EXPECT_EQ(ordered_sum(values.t().contiguous().t()), one);
  EXPECT_EQ(ordered_sum(values.flatten()), one);

  // Large enough for torch to share it out among threads.
  const at::Tensor many = torch::randn({1 << 20});
  const int before = at::get_num_threads();
  std::vector<double> sums, squares;
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    sums.push_back(ordered_sum(many));
    squares.push_back(ordered_sum_of_squares(many));
  }
  at::set_num_threads(before);
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(squares[0], squares[1]);
}

}  // namespace
}  // namespace longspan::train
