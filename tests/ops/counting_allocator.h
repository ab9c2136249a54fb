// What tensors allocate.
#pragma once

#include <c10/core/CPUAllocator.h>

#include <cstddef>
#include <cstdint>

namespace longspan::ops {

/// Counts the bytes that CPU tensors ask for while it lives.
class CountingAllocator final : public c10::Allocator {
 public:
  CountingAllocator() : wrapped_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }
  ~CountingAllocator() override { c10::SetCPUAllocator(wrapped_, kPriority); }
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

  c10::DataPtr allocate(std::size_t n) override {
    bytes += static_cast<int64_t>(n);
    return wrapped_->allocate(n);
  }
  c10::DeleterFnPtr raw_deleter() const override { return wrapped_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t count) const override { wrapped_->copy_data(to, from, count); }

  int64_t bytes = 0;

 private:
  /// Torch ignores an allocator of a lower priority than the last one that was set.
  static constexpr uint8_t kPriority = 1;
  c10::Allocator* wrapped_;
};

}  // namespace longspan::ops
