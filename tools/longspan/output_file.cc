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

bool is_state(const std::string& path) {
  try {
    const std::string format = SafetensorsFile(path).metadata("format");
    return format.starts_with("longspan.session.") || format.starts_with("longspan.state.");
  } catch (const InputError&) {
    return false;
  }
}

bool is_svg(const std::string& path) {
  std::string start(4, '\0');
  std::ifstream(path).read(start.data(), 4);
  return start == "<svg";
}

}  // namespace

void check_replaces_state(const std::string& flag, const std::string& path) {
  LONGSPAN_CHECK(!holds_something(path) || is_state(path), flag, ": '", path,
                 "' exists and is not a state; give another name");
}

void check_replaces_svg(const std::string& flag, const std::string& path) {
  LONGSPAN_CHECK(!holds_something(path) || is_svg(path), flag, ": '", path,
                 "' exists and is not an SVG picture; give another name");
}

}  // namespace longspan::tool
