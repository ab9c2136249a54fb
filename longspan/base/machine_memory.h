// How much memory this machine has.
#pragma once

#include <cstdint>

namespace longspan {

/// Bytes of main memory, whoever uses them.
int64_t machine_memory();

}  // namespace longspan
