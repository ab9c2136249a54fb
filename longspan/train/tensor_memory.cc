#include "longspan/train/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace longspan::train {

namespace {

class Count final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t change, std::size_t, std::size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    held += change;
    peak = std::max(peak, held);
    largest = std::max(largest, change);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t held = 0, peak = 0, largest = 0;
};

}  // namespace

struct TensorMemory::Guard {
  std::shared_ptr<Count> count = std::make_shared<Count>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, count};
};

TensorMemory::TensorMemory() : guard_(std::make_unique<Guard>()) {}

TensorMemory::~TensorMemory() = default;

int64_t TensorMemory::held() const { return guard_->count->held; }

int64_t TensorMemory::peak() const { return guard_->count->peak; }

int64_t TensorMemory::largest() const { return guard_->count->largest; }

int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      int64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  return 0;
}

}  // namespace longspan::train
