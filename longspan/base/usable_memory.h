// How much memory there is.
#pragma once

#include <cstdint>

namespace longspan {

/// Bytes of memory that this process may have in all: the machine's, or what its control group allows.
int64_t usable_memory();

}  // namespace longspan
