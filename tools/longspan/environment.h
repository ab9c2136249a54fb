// Machine and versions, as a report names them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "longspan/io/json.h"

namespace longspan::tool {

struct Environment {
  std::string processor, system;  ///< "" where the system does not say
  int cores = 0, threads = 0;     ///< cores that this process may use; threads that it does use
  int64_t memory_bytes = 0;
  std::string simd;                       ///< target of the kernels
  std::string longspan, torch, compiler;  ///< versions
};

/// `threads` and `torch` (its version) are the caller's to know: nothing here depends on LibTorch.
Environment this_environment(int threads, std::string torch);

/// For a page: names and values.
std::vector<std::pair<std::string, std::string>> facts(const Environment& environment);
Json to_json(const Environment& environment);

/// A command as it can be pasted into a shell.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace longspan::tool
