#include "longspan/base/usable_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace longspan {

int64_t usable_memory() {
  int64_t most = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  // Version 2 and version 1 of control groups, as a container sees its own; "max" does not read as a number.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) most = std::min(most, limit);
  }
  return most;
}

}  // namespace longspan
