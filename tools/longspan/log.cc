#include "log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cctype>
#include <memory>

namespace longspan::tool {

namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("longspan", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("longspan: %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

void log_info(const std::string& line) { logger().info("{}", one_line(line)); }
void log_error(const std::string& line) { logger().error("{}", one_line(line)); }

}  // namespace longspan::tool
