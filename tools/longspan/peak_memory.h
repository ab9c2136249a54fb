// The most memory that this process has had.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace longspan::tool {

/// Peak resident bytes. The kernel's own count for this program (VmHWM): getrusage() would count what the shell that
/// started it had.
inline int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return 1024 * kilobytes;
  }
  struct rusage usage = {};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? 1024 * static_cast<int64_t>(usage.ru_maxrss) : 0;
}

}  // namespace longspan::tool
