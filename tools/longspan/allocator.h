// Where this program takes the memory of tensors from.
#pragma once

namespace longspan::tool {

/// Keeps the memory of freed tensors for the next ones, within a bound (ops::install_caching_allocator), in huge pages
/// unless the user has set torch's THP_MEM_ALLOC_ENABLE to 0: taking and clearing memory 4 KB at a time costs as much
/// as LAVO itself at 16K tokens and more. To be called before the first tensor is made.
void use_caching_allocator();

}  // namespace longspan::tool
