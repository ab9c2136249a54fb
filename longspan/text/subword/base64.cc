#include "longspan/text/subword/base64.h"

#include <cstdint>

namespace longspan {

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static const auto values = [&] {
    std::string out(256, '\xFF');
    for (std::size_t i = 0; i < kDigits.size(); ++i) out[static_cast<unsigned char>(kDigits[i])] = static_cast<char>(i);
    return out;
  }();
  const std::size_t padded = text.size();
  while (text.ends_with('=')) text.remove_suffix(1);
  if (padded - text.size() > 2 || (padded != text.size() && padded % 4 != 0) || text.size() % 4 == 1)
    return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const auto value = static_cast<unsigned char>(values[static_cast<unsigned char>(c)]);
    if (value == 0xFF) return std::nullopt;
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held);
  }
  if ((bits & ((1u << held) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace longspan
