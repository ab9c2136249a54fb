#include "longspan/kernels/diffusion/panels.h"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstdint>

namespace longspan::kernels::diffusion {

void ask_for_large_pages([[maybe_unused]] void* data, [[maybe_unused]] int64_t bytes) {
#ifdef __linux__
  constexpr int64_t kWorthIt = int64_t{1} << 19;
  if (bytes < kWorthIt) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes)) / page * page;
  // A wish: where the system does not grant it nothing changes.
  static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#endif
}

}  // namespace longspan::kernels::diffusion
