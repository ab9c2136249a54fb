#include "longspan/report/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace longspan::report {

std::string fixed(double value, int decimals) {
  char text[512];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string signed_fixed(double value, int decimals) {
  std::string text = value >= 0 ? "+" : "";
  return text += fixed(value, decimals);
}

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (magnitude < -6 || magnitude > 14) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
  }
  return fixed(value, std::max(0, digits - 1 - magnitude));
}

std::string number(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string length_label(int64_t length) {
  constexpr int64_t kilo = 1024, mega = kilo * kilo;
  if (length >= mega && length % mega == 0) return std::to_string(length / mega) + "M";
  if (length >= kilo && length % kilo == 0) return std::to_string(length / kilo) + "K";
  return std::to_string(length);
}

std::string grouped(int64_t value) {
  std::string text = std::to_string(value);
  const int64_t first = value < 0 ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string bytes(double value) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return fixed(value, unit == 0 ? 0 : 1) + " " + units[unit];
}

std::string duration(double seconds) {
  const auto total = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  const auto two = [](int64_t value) {
    std::string text = value < 10 ? "0" : "";
    return text += std::to_string(value);
  };
  if (total < 60) return std::to_string(total) + " s";
  if (total < 3600) return std::to_string(total / 60) + " min " + two(total % 60) + " s";
  return std::to_string(total / 3600) + " h " + two(total / 60 % 60) + " min";
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? separator : "") + parts[i];
  return out;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t have = characters(text);
  return have >= width ? text : std::string(width - have, ' ') + text;
}

std::string pad_right(const std::string& text, std::size_t width) {
  const std::size_t have = characters(text);
  return have >= width ? text : text + std::string(width - have, ' ');
}

std::string indent(const std::string& text, std::size_t columns) {
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1);
    out += std::string(columns, ' ') + text.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return out;
}

}  // namespace longspan::report
