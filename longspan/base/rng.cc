#include "longspan/base/rng.h"

#include <cmath>
#include <numbers>

#include "longspan/base/check.h"

namespace longspan {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

uint64_t stream_of(std::initializer_list<uint64_t> parts) {
  uint64_t hash = parts.size();
  for (const uint64_t part : parts) {
    // The finaliser of SplitMix64, a bijection, between the parts: order counts.
    hash = (hash ^ part) + 0x9E3779B97F4A7C15;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
    hash ^= hash >> 31;
  }
  return hash;
}

uint64_t Rng::bits() {
  const uint64_t block = position_ / 2;
  const auto words = philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                 static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                                {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
  const std::size_t half = position_ % 2 * 2;
  ++position_;
  return words[half] | uint64_t{words[half + 1]} << 32;
}

uint64_t Rng::below(uint64_t bound) {
  LONGSPAN_CHECK(bound >= 1, "Rng::below: bound must be at least 1, got ", bound);
  // Draws from the last, incomplete run of `bound` values are thrown away; they are the 2^64 mod bound lowest ones.
  const uint64_t rejected = (0 - bound) % bound;
  uint64_t value = bits();
  while (value < rejected) value = bits();
  return value % bound;
}

double Rng::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));  // 1 - uniform is never 0
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace longspan
