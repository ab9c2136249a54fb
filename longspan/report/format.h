// Numbers and short texts as a person reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longspan::report {

std::string fixed(double value, int decimals);
/// With its sign: "+0.0012", "-0.5000".
std::string signed_fixed(double value, int decimals);
/// A share: 0.125 -> "12.5 %".
std::string percent(double share);
/// `digits` significant digits without an exponent where that is readable: 0.01234, 12.3, 12345.
std::string significant(double value, int digits);
/// The shortest text that reads back as `value`.
std::string number(double value);
/// 1024 -> "1K", 65536 -> "64K", 1048576 -> "1M", 1000 -> "1000".
std::string length_label(int64_t length);
/// 1234567 -> "1,234,567".
std::string grouped(int64_t value);
/// "850 B", "12.3 KiB", "4.0 MiB".
std::string bytes(double value);
/// "42 s", "3 min 05 s", "2 h 07 min".
std::string duration(double seconds);

std::string join(const std::vector<std::string>& parts, const std::string& separator);
/// Padded with blanks to `width` characters (UTF-8 characters count as one).
std::string pad_left(const std::string& text, std::size_t width);
std::string pad_right(const std::string& text, std::size_t width);
/// Every line moved right by `columns`.
std::string indent(const std::string& text, std::size_t columns);
/// Characters of UTF-8 text.
std::size_t characters(const std::string& text);

}  // namespace longspan::report
