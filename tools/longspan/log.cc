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

void append_escaped(std::string& out, unsigned char byte) {
  constexpr const char* kDigits = "0123456789abcdef";
  out += "\\x";
  out += {kDigits[byte >> 4], kDigits[byte & 15]};
}

/// One line that a terminal shows and does not obey: line breaks and runs of blanks are one blank, other control
/// characters (of a file's name, say) stand as \xNN. In UTF-8 those beyond ASCII are C2 80 to C2 9F.
std::string one_line(const std::string& given) {
  // Whatever stands in a message, a name of a megabyte say: the beginning and the end tell what it is about.
  constexpr std::size_t kMost = 4000, kEnd = 1000;
  const std::string text =
      given.size() <= kMost ? given : given.substr(0, kMost - kEnd) + " ... " + given.substr(given.size() - kEnd);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (std::isspace(byte)) {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else if (std::iscntrl(byte)) {
      append_escaped(out, byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      append_escaped(out, next);
      ++i;
    } else {
      out += text[i];
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

void log_info(const std::string& line) { logger().info("{}", one_line(line)); }
void log_error(const std::string& line) { logger().error("{}", one_line(line)); }

}  // namespace longspan::tool
