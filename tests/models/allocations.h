// What torch allocates on the CPU while something runs.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

namespace longspan::models {

struct Allocations {
  int64_t peak = 0;     ///< most bytes alive at a time, beyond those at the beginning
  int64_t largest = 0;  ///< bytes of the largest one
};

/// Counts the tensors that the calling thread makes and drops in `run`.
inline Allocations count_allocations(const std::function<void()>& run) {
  class Count : public c10::MemoryReportingInfoBase {
   public:
    void reportMemoryUsage(void*, int64_t bytes, std::size_t, std::size_t, c10::Device) override {
      alive_ += bytes;  // negative where a tensor ends
      result.peak = std::max(result.peak, alive_);
      result.largest = std::max(result.largest, bytes);
    }
    bool memoryProfilingEnabled() const override { return true; }
    Allocations result;

   private:
    int64_t alive_ = 0;
  };
  const auto count = std::make_shared<Count>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, count);
    run();
  }
  return count->result;
}

}  // namespace longspan::models
