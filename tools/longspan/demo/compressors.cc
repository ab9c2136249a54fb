#include "compressors.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

extern char** environ;

namespace longspan::tool {

namespace {

/// Bytes that `program -9 -c path` writes; empty when it cannot be run or fails.
std::optional<int64_t> compressed_size(const char* program, const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const std::string input = std::filesystem::absolute(path).string();  // never looks like a flag
  std::array<char*, 5> arguments = {const_cast<char*>(program), const_cast<char*>("-9"), const_cast<char*>("-c"),
                                    const_cast<char*>(input.c_str()), nullptr};
  pid_t child = 0;
  const bool started = posix_spawnp(&child, program, &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  int64_t total = 0;
  std::array<char, 1 << 16> buffer;
  for (ssize_t got = 0; started && (got = read(ends[0], buffer.data(), buffer.size())) > 0;) total += got;
  close(ends[0]);
  int status = 0;
  if (!started || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return total;
}

}  // namespace

std::map<std::string, double> compressor_rates(const std::string& path) {
  std::map<std::string, double> rates;
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  for (const char* program : {"gzip", "xz"})
    if (const auto compressed = compressed_size(program, path))
      rates[std::string(program) + " -9"] = 8.0 * static_cast<double>(*compressed) / size;
  return rates;
}

}  // namespace longspan::tool
