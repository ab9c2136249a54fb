// Memory of CPU tensors that is kept for the next ones.
#pragma once

#include <cstddef>

#include "longspan/base/page_pool.h"

namespace longspan::ops {

struct CachingAllocatorOptions {
  /// Tensors of fewer bytes go on to the allocator that was there before.
  std::size_t smallest = 64 << 10;
  PagePool::Options pool;
};

/// From now on, torch takes the memory of CPU tensors from a pool (PagePool): what it holds beyond live tensors is
/// bounded by a small part of the most that lived at once, and a training step that repeats the sizes of the last one
/// asks the system for next to nothing. For a program to call before its first tensor, while it has one thread; nothing
/// in longspan does so by itself. Tensors made before stay with their allocator. What the pool cannot give is asked of
/// that allocator, so running out of memory is its error; torch's profiler is told of every tensor as before.
/// InputError when an allocator of a higher priority was set (c10::SetCPUAllocator). A second call changes nothing.
void install_caching_allocator(const CachingAllocatorOptions& options = {});

/// Gives the system back what no tensor uses; returns its bytes. 0 without the caching allocator.
std::size_t release_cached_memory();

/// What the pool holds; zeros without the caching allocator.
PagePool::Statistics caching_allocator_statistics();

}  // namespace longspan::ops
