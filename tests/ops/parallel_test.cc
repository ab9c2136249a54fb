#include "longspan/ops/parallel.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace longspan::ops {
namespace {

class TorchParallelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = at::get_num_threads();
    at::set_num_threads(2);
  }
  void TearDown() override { at::set_num_threads(before_); }
  int before_ = 1;
};

// A build of parallel.cc without OpenMP would run everything on one thread: each task waits until both have begun.
TEST_F(TorchParallelTest, TwoWorkersRunAtOnce) {
  ASSERT_EQ(torch_parallel().workers(), 2);
  std::atomic<int> begun{0};
  std::vector<int> worker_of(2, -1);
  std::vector<std::thread::id> thread_of(2);
  torch_parallel().run(2, [&](int64_t index, int worker) {
    worker_of[index] = worker;
    thread_of[index] = std::this_thread::get_id();
    ++begun;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (begun < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_EQ(std::set<int>(worker_of.begin(), worker_of.end()), (std::set<int>{0, 1}));
  EXPECT_NE(thread_of[0], thread_of[1]);
}

TEST_F(TorchParallelTest, EveryIndexOnce) {
  for (int64_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> seen(count);
    torch_parallel().run(count, [&](int64_t index, int) { ++seen[index]; });
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(seen[i], 1) << "index " << i << " of " << count;
  }
}

// One long task must not hold back the short ones that a static split would have put behind it.
TEST_F(TorchParallelTest, UnevenTasksBalance) {
  constexpr int64_t kCount = 64;
  std::atomic<int64_t> done{0};
  std::atomic<int64_t> others{-1};
  torch_parallel().run(kCount, [&](int64_t index, int) {
    if (index == 0) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (done < kCount - 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      others = done.load();
    } else {
      ++done;
    }
  });
  EXPECT_EQ(others, kCount - 1);
}

TEST_F(TorchParallelTest, NestedCallRunsOnItsWorker) {
  std::atomic<int> elsewhere{0}, runs{0};
  torch_parallel().run(4, [&](int64_t, int) {
    const auto self = std::this_thread::get_id();
    torch_parallel().run(8, [&](int64_t, int worker) {
      ++runs;
      if (worker != 0 || std::this_thread::get_id() != self) ++elsewhere;
    });
  });
  EXPECT_EQ(runs, 32);
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(TorchParallelTest, ExceptionReachesTheCaller) {
  std::atomic<int> runs{0};
  EXPECT_THROW(torch_parallel().run(10,
                                    [&](int64_t index, int) {
                                      ++runs;
                                      if (index == 3) throw std::runtime_error("three");
                                    }),
               std::runtime_error);
  EXPECT_EQ(runs, 10);
}

}  // namespace
}  // namespace longspan::ops
