#include "longspan/text/subword/byte_alphabet.h"

#include <array>
#include <cstdint>

namespace longspan {

namespace {

constexpr bool printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// The characters, all below U+0144, and the way back; -1: stands for no byte.
struct Alphabet {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, 0x144> byte{};
};
constexpr Alphabet make_alphabet() {
  Alphabet out;
  for (auto& byte : out.byte) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = printable(byte) ? byte : next++;
    out.character[static_cast<std::size_t>(byte)] = static_cast<uint16_t>(character);
    out.byte[static_cast<std::size_t>(character)] = static_cast<int16_t>(byte);
  }
  return out;
}
constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const uint16_t character = kAlphabet.character[static_cast<unsigned char>(byte)];
    if (character < 0x80) {
      out += static_cast<char>(character);
    } else {
      out += static_cast<char>(0xC0 | character >> 6);
      out += static_cast<char>(0x80 | (character & 0x3F));
    }
  }
  return out;
}

std::string byte_token_name(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

std::optional<std::string> from_byte_alphabet(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size();) {
    const auto first = static_cast<unsigned char>(token[i++]);
    std::size_t character = first;
    if (first >= 0x80) {
      if (first < 0xC2 || first > 0xC5 || i == token.size()) return std::nullopt;
      character = (first & 0x1Fu) << 6 | (static_cast<unsigned char>(token[i++]) & 0x3Fu);
    }
    if (character >= kAlphabet.byte.size() || kAlphabet.byte[character] < 0) return std::nullopt;
    out += static_cast<char>(kAlphabet.byte[character]);
  }
  return out;
}

}  // namespace longspan
