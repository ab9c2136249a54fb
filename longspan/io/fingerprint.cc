#include "longspan/io/fingerprint.h"

#include <cstring>

namespace longspan {

namespace {

/// The finaliser of SplitMix64: every input bit moves every output bit.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

void Fingerprint::word(uint64_t value) {
  a_ = (a_ ^ value) * 0xff51afd7ed558ccdu;
  a_ ^= a_ >> 32;
  b_ = (b_ + value) * 0xc4ceb9fe1a85ec53u;
  b_ ^= b_ >> 29;
}

void Fingerprint::add(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t value;
    std::memcpy(&value, from + i, 8);
    word(value);
  }
  uint64_t rest = 0;
  if (size % 8) std::memcpy(&rest, from + size / 8 * 8, size % 8);
  word(rest);
  word(size);
}

std::string Fingerprint::hex() const {
  std::string out;
  for (uint64_t lane : {mixed(a_ + b_), mixed(b_ ^ (a_ >> 1))})
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[lane >> shift & 15];
  return out;
}

}  // namespace longspan
