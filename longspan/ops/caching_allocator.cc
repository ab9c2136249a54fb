#include "longspan/ops/caching_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "longspan/base/check.h"

namespace longspan::ops {

namespace {

class CachingAllocator final : public c10::Allocator {
 public:
  explicit CachingAllocator(const CachingAllocatorOptions& options)
      : smallest_(std::max<std::size_t>(options.smallest, 1)), others_(c10::GetCPUAllocator()), pool_(options.pool) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes >= smallest_) {
      if (void* const block = pool_.allocate(bytes)) {
        c10::profiledCPUMemoryReporter().New(block, bytes);
        return {block, block, &free_block, c10::Device(c10::DeviceType::CPU)};
      }
    }
    c10::DataPtr other = others_->allocate(bytes);
    // One deleter for all (raw_deleter) where the other allocator has one for all of its own.
    if (others_->raw_deleter()) (void)other.compare_exchange_deleter(others_->raw_deleter(), &free_block);
    return other;
  }

  c10::DeleterFnPtr raw_deleter() const override { return others_->raw_deleter() ? &free_block : nullptr; }

  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

  PagePool& pool() { return pool_; }

 private:
  static void free_block(void* block);

  std::size_t smallest_;
  c10::Allocator* others_;
  PagePool pool_;
};

/// Lives until the process ends: tensors in static variables are freed late.
CachingAllocator* installed = nullptr;

void CachingAllocator::free_block(void* block) {
  // Few of the others' begin at a page, so a lookup in vain is rare.
  if (block && reinterpret_cast<std::uintptr_t>(block) % PagePool::kPage == 0 && installed->pool_.owns(block)) {
    c10::profiledCPUMemoryReporter().Delete(block);
    installed->pool_.free(block);
    return;
  }
  installed->others_->raw_deleter()(block);
}

}  // namespace

void install_caching_allocator(const CachingAllocatorOptions& options) {
  if (installed) return;
  installed = new CachingAllocator(options);
  c10::SetCPUAllocator(installed);
  if (c10::GetCPUAllocator() == installed) return;
  delete std::exchange(installed, nullptr);
  throw InputError("caching allocator: torch has an allocator of CPU tensors of a higher priority already");
}

std::size_t release_cached_memory() { return installed ? installed->pool().release_cached() : 0; }

PagePool::Statistics caching_allocator_statistics() {
  return installed ? installed->pool().statistics() : PagePool::Statistics{};
}

}  // namespace longspan::ops
