#include "allocator.h"

#include <cstdlib>

namespace longspan::tool {

void use_huge_pages() { setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0); }

}  // namespace longspan::tool
