#include "longspan/base/machine_memory.h"

#include <unistd.h>

namespace longspan {

int64_t machine_memory() { return int64_t{::sysconf(_SC_PHYS_PAGES)} * int64_t{::sysconf(_SC_PAGE_SIZE)}; }

}  // namespace longspan
