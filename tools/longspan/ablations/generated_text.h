// A text whose far past helps: what a memory of averages can learn and a window cannot.
#pragma once

#include <cstdint>
#include <string>

namespace longspan::tool {

/// `size` bytes of short documents, lines of words. Every document draws its words from eight of its own out of 256, so
/// that after some of them it is known which words can come; the words before the last few are out of a small window's
/// reach. The same bytes for a seed everywhere.
std::string generated_text(int64_t size, uint64_t seed);

}  // namespace longspan::tool
