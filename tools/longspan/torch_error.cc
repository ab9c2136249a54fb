#include "torch_error.h"

#include <charconv>
#include <cstdint>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// The integer behind `words`, or -1.
int64_t number_after(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  if (at == std::string::npos) return -1;
  int64_t value = -1;
  std::from_chars(text.data() + at + words.size(), text.data() + text.size(), value);
  return value;
}

/// "[enforce fail at alloc_cpu.cpp:118] err == 0. What happened" -> "What happened"
std::string without_place(const std::string& line) {
  if (!line.starts_with("[enforce fail at ")) return line;
  const auto place = line.find("] ");
  const auto condition = line.find(". ", place == std::string::npos ? 0 : place);
  return condition == std::string::npos ? line : line.substr(condition + 2);
}

}  // namespace

Reported report_torch_error(const std::string& text) {
  if (contains(text, "can't allocate memory") || contains(text, "not enough memory")) {
    const int64_t bytes = number_after(text, "you tried to allocate ");
    return {bytes < 0 ? "out of memory"
                      : "out of memory: " + report::bytes(static_cast<double>(bytes)) + " were asked for in one piece",
            exit_failed};
  }
  if (contains(text, "overflow") && (contains(text, "torage size") || contains(text, "multiplication")))
    return {"the sizes asked for are beyond what a tensor can have", exit_wrong_input};
  return {without_place(text.substr(0, text.find('\n'))), exit_failed};
}

}  // namespace longspan::tool
