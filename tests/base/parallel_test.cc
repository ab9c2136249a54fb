#include "longspan/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "longspan/base/check.h"

namespace longspan {
namespace {

TEST(Parallel, EveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    const ThreadPool pool(threads);
    EXPECT_EQ(pool.workers(), threads);
    for (const int64_t count : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      pool.run(count, [&](int64_t i, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
        ++calls[i];
      });
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(calls[i], 1) << "index " << i << " of " << count;
    }
  }
}

TEST(Parallel, SerialKeepsOrder) {
  std::vector<int64_t> order;
  SerialParallel().run(5, [&](int64_t i, int worker) {
    EXPECT_EQ(worker, 0);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

// Each of two tasks waits until the other has begun: only two threads at once can finish this.
TEST(Parallel, TwoWorkersRunAtOnce) {
  const ThreadPool pool(2);
  std::atomic<int> begun{0};
  std::atomic<int> workers{0};
  pool.run(2, [&](int64_t, int worker) {
    workers += 1 << worker;
    ++begun;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (begun < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(begun, 2);
  });
  EXPECT_EQ(workers, 3);
}

TEST(Parallel, WorkersNeverShareANumberAtOnce) {
  const ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  pool.run(2000, [&](int64_t, int worker) {
    EXPECT_EQ(inside[worker]++, 0);
    std::this_thread::yield();
    --inside[worker];
  });
}

TEST(Parallel, AnErrorIsRethrownWhenNoTaskRuns) {
  const SerialParallel serial;
  const ThreadPool pool(3);
  for (const Parallel* parallel : {static_cast<const Parallel*>(&serial), static_cast<const Parallel*>(&pool)}) {
    std::atomic<int> begun{0}, ended{0};
    std::string message;
    try {
      parallel->run(100, [&](int64_t i, int) {
        ++begun;
        if (i == 3) {
          ++ended;
          throw InputError("three");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++ended;
      });
    } catch (const InputError& error) {
      EXPECT_EQ(begun, ended);
      message = error.what();
    }
    EXPECT_EQ(message, "three");
    std::atomic<int> after{0};
    parallel->run(20, [&](int64_t, int) { ++after; });  // it lives on
    EXPECT_EQ(after, 20);
  }
}

TEST(Parallel, AnErrorOfANestedCallReachesTheOuterCaller) {
  const ThreadPool pool(2);
  EXPECT_THROW(pool.run(2, [&](int64_t, int) { pool.run(3, [](int64_t, int) { throw InputError("inner"); }); }),
               InputError);
}

TEST(Parallel, NestedCallsAndSeveralCallers) {
  const ThreadPool pool(2);
  std::atomic<int> calls{0};
  const auto outer = [&] { pool.run(8, [&](int64_t, int) { pool.run(4, [&](int64_t, int) { ++calls; }); }); };
  std::thread other(outer);
  outer();
  other.join();
  EXPECT_EQ(calls, 64);
}

TEST(Parallel, RefusesNoThreads) { EXPECT_THROW(ThreadPool(0), InputError); }

}  // namespace
}  // namespace longspan
