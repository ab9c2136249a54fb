#include "allocator.h"

#include <cstdlib>
#include <string_view>

#include "longspan/ops/caching_allocator.h"

namespace longspan::tool {

void use_caching_allocator() {
  const char* const huge = std::getenv("THP_MEM_ALLOC_ENABLE");
  ops::CachingAllocatorOptions options;
  options.pool.huge_pages = !huge || std::string_view(huge) != "0";
  ops::install_caching_allocator(options);
}

}  // namespace longspan::tool
