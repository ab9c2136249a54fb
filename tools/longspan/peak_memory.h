// The memory that this process holds at most during one call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace longspan::tool {

/// Calls `call` and returns by how many bytes the memory that this process holds rose at most meanwhile: everything,
/// tensors, scratch and what libraries keep. Exact to pages (4 KiB; 2 MiB for large tensors). Nothing where the system
/// does not say (Linux does); the call was made all the same. train::peak_resident_bytes() begins anew
/// with it.
std::optional<int64_t> peak_memory(const std::function<void()>& call);

}  // namespace longspan::tool
