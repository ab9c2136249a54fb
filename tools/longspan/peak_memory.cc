#include "peak_memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "longspan/ops/caching_allocator.h"

namespace longspan::tool {

namespace {

/// A line of /proc/self/status, in bytes.
std::optional<int64_t> status_bytes(const std::string& name) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(name + ":", 0) == 0) return std::stoll(line.substr(name.size() + 1)) * 1024;
  return std::nullopt;
}

/// Sets the peak that the system remembers to what is held now.
bool reset_peak() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return out.good();
}

}  // namespace

std::optional<int64_t> peak_memory(const std::function<void()>& call) {
  // What is free already would be taken again unseen.
  ops::release_cached_memory();
  malloc_trim(0);
  const bool known = reset_peak();
  const auto before = status_bytes("VmRSS");
  call();
  const auto peak = status_bytes("VmHWM");
  if (!known || !before || !peak) return std::nullopt;
  return std::max<int64_t>(0, *peak - *before);
}

}  // namespace longspan::tool
