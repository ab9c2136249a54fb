#include "longspan/ops/caching_allocator.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "longspan/base/check.h"

namespace longspan::ops {
namespace {

constexpr int64_t kFloatsOfAMiB = 1 << 18;

class CachingAllocatorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    before = at::ones({kFloatsOfAMiB});
    EXPECT_EQ(caching_allocator_statistics().taken, 0u);
    EXPECT_EQ(release_cached_memory(), 0u);
    install_caching_allocator();
  }
  static void TearDownTestSuite() { before.reset(); }  // by the allocator it is from

  static inline at::Tensor before;
};

TEST_F(CachingAllocatorTest, LargeTensorsComeFromThePoolAndSmallOnesDoNot) {
  const std::size_t blocks = caching_allocator_statistics().blocks;
  const at::Tensor small = at::ones({100}), large = at::ones({kFloatsOfAMiB});
  EXPECT_EQ(caching_allocator_statistics().blocks, blocks + 1);
  for (const at::Tensor& tensor : {small, large})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0u);
  const void* const place = large.data_ptr();
  { const at::Tensor gone = large.clone(); }
  EXPECT_EQ(caching_allocator_statistics().blocks, blocks + 1);
  EXPECT_EQ(large.sum().item<float>(), kFloatsOfAMiB);
  EXPECT_EQ(before.sum().item<float>(), kFloatsOfAMiB);
  EXPECT_EQ(large.data_ptr(), place);
}

TEST_F(CachingAllocatorTest, EmptyTensorsAndRawMemoryAreAsBefore) {
  EXPECT_EQ(at::empty({0}).data_ptr(), nullptr);
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{1} << 20}) {
    void* const block = allocator->raw_allocate(bytes);
    static_cast<char*>(block)[bytes - 1] = 1;
    allocator->raw_deallocate(block);
  }
}

TEST_F(CachingAllocatorTest, ASecondCallChangesNothing) {
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  install_caching_allocator();
  EXPECT_EQ(c10::GetCPUAllocator(), allocator);
}

TEST_F(CachingAllocatorTest, TensorsThatAreFreedOnAnotherThread) {
  const std::size_t blocks = caching_allocator_statistics().blocks;
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 50; ++i) tensors.push_back(at::ones({i % 2 ? 10 : kFloatsOfAMiB}));
  std::thread([&] { tensors.clear(); }).join();
  EXPECT_EQ(caching_allocator_statistics().blocks, blocks);
}

TEST_F(CachingAllocatorTest, GivesBack) {
  { const at::Tensor gone = at::ones({64 * kFloatsOfAMiB}); }
  EXPECT_GE(release_cached_memory(), std::size_t{64} << 20);
  EXPECT_EQ(caching_allocator_statistics().cached, 0u);
}

TEST_F(CachingAllocatorTest, OutOfMemoryIsTheErrorOfTorchsOwn) {
  const auto message = [](c10::Allocator* allocator) -> std::string {
    try {
      (void)allocator->allocate(std::size_t{1} << 50);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "none";
  };
  const std::string ours = message(c10::GetCPUAllocator());
  EXPECT_EQ(ours, message(c10::GetDefaultCPUAllocator()));
  EXPECT_THAT(ours, ::testing::HasSubstr("you tried to allocate 1125899906842624 bytes"));
}

/// Counts what torch's profiler is told.
class Told final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t change, std::size_t, std::size_t, c10::Device) override {
    changes.push_back(change);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::vector<int64_t> changes;
};

TEST_F(CachingAllocatorTest, TheProfilerIsToldOfEveryTensor) {
  const auto told = std::make_shared<Told>();
  {
    c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, told);
    at::empty({kFloatsOfAMiB});
    at::empty({3});
  }
  EXPECT_THAT(told->changes, ::testing::ElementsAre(4 * kFloatsOfAMiB, -4 * kFloatsOfAMiB, 12, -12));
}

}  // namespace
}  // namespace longspan::ops
