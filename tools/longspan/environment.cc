#include "environment.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/simd/target.h"

namespace longspan::tool {

namespace {

/// What stands behind the first `separator` of the first line that begins with `key`; "" without one.
std::string value_in(const char* path, const std::string& key, char separator) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(separator);
    if (line.rfind(key, 0) != 0 || at == std::string::npos) continue;
    std::string value = line.substr(at + 1);
    std::erase(value, '"');
    return value.substr(std::min(value.find_first_not_of(" \t"), value.size()));
  }
  return "";
}

std::string system_name() {
  utsname kernel;
  if (uname(&kernel) != 0) return "";
  const std::string name = str_cat(kernel.sysname, " ", kernel.release, " ", kernel.machine);
  const std::string distribution = value_in("/etc/os-release", "PRETTY_NAME", '=');
  return distribution.empty() ? name : distribution + ", " + name;
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                     : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

std::string compiler_name() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

Environment this_environment(int threads, std::string torch) {
  Environment out;
  out.processor = value_in("/proc/cpuinfo", "model name", ':');
  out.system = system_name();
  out.cores = usable_cores();
  out.threads = threads;
  out.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  out.simd = simd::active_target();
  out.longspan = LONGSPAN_VERSION;
  out.torch = std::move(torch);
  out.compiler = compiler_name();
  return out;
}

std::vector<std::pair<std::string, std::string>> facts(const Environment& environment) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.emplace_back(name, value);
  };
  add("Processor", environment.processor);
  add("Cores", str_cat(environment.cores, " usable, ", environment.threads,
                       environment.threads == 1 ? " thread" : " threads", " at work"));
  add("Memory", report::bytes(static_cast<double>(environment.memory_bytes)));
  add("System", environment.system);
  add("Kernels", environment.simd);
  add("longspan", environment.longspan);
  add("LibTorch", environment.torch);
  add("Compiler", environment.compiler);
  return out;
}

Json to_json(const Environment& environment) {
  return {{"threads", environment.threads},           {"simd", environment.simd},
          {"processor", environment.processor},       {"cores", environment.cores},
          {"memory_bytes", environment.memory_bytes}, {"system", environment.system},
          {"longspan", environment.longspan},         {"torch", environment.torch},
          {"compiler", environment.compiler}};
}

std::string shell_line(const std::vector<std::string>& words) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_./=,:+@%").find(c) != std::string::npos;
  };
  std::string out;
  for (const std::string& word : words) {
    out += out.empty() ? "" : " ";
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace longspan::tool
