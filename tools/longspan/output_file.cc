#include "output_file.h"

#include <filesystem>
#include <fstream>

#include "longspan/base/check.h"
#include "longspan/io/safetensors.h"

namespace longspan::tool {

namespace {

bool holds_something(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) > 0 && !error;
}

/// Before hours of work, not behind them.
void check_folder(const std::string& flag, const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  LONGSPAN_CHECK(folder.empty() || std::filesystem::is_directory(folder, error), flag, ": '", path,
                 "': there is no folder '", folder.string(), "'");
  LONGSPAN_CHECK(!std::filesystem::is_directory(path, error), flag, ": expected a file, got the folder '", path, "'");
}

bool is_state(const std::string& path) {
  try {
    const std::string format = SafetensorsFile(path).metadata("format");
    return format.starts_with("longspan.session.") || format.starts_with("longspan.state.");
  } catch (const InputError&) {
    return false;
  }
}

bool begins_with(const std::string& path, const std::string& expected) {
  std::string start(expected.size(), '\0');
  std::ifstream(path).read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == expected;
}

}  // namespace

void check_replaces_state(const std::string& flag, const std::string& path) {
  check_folder(flag, path);
  LONGSPAN_CHECK(!holds_something(path) || is_state(path), flag, ": '", path,
                 "' exists and is not a state; give another name");
}

void check_replaces_svg(const std::string& flag, const std::string& path) {
  check_folder(flag, path);
  LONGSPAN_CHECK(!holds_something(path) || begins_with(path, "<svg"), flag, ": '", path,
                 "' exists and is not an SVG picture; give another name");
}

void check_replaces_csv(const std::string& flag, const std::string& path, const std::string& columns) {
  check_folder(flag, path);
  LONGSPAN_CHECK(!holds_something(path) || begins_with(path, columns), flag, ": '", path,
                 "' exists and is not a table with the columns ", columns, "; give another name");
}

}  // namespace longspan::tool
