// How this program asks the system for the memory of large tensors.
#pragma once

namespace longspan::tool {

/// Asks for huge pages for tensors of 2 MB and more (torch's THP_MEM_ALLOC_ENABLE, unless the user has set it): taking
/// and clearing them 4 KB at a time costs as much as LAVO itself at 16K tokens and more. To be called before the first
/// tensor is made.
void use_huge_pages();

}  // namespace longspan::tool
