// The memory that this process holds at most: in all, and for one call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace longspan::tool {

/// Peak resident bytes so far. The system's own count for this program (VmHWM): getrusage() would count what the shell
/// that started it had.
int64_t peak_resident_bytes();

/// Calls `call` and returns by how many bytes the memory that this process holds rose at most meanwhile: everything,
/// tensors, scratch and what libraries keep. Exact to pages (4 KiB; 2 MiB for large tensors). Nothing where the system
/// does not say (Linux does); the call was made all the same. peak_resident_bytes() begins anew with it.
std::optional<int64_t> peak_memory(const std::function<void()>& call);

}  // namespace longspan::tool
