// Seeds of the masks of diffusion: sums with a constant of each mask, so that a form in ATen operators can add it to a
// seed that lies on a device.
#pragma once

#include <cstdint>

namespace longspan {

namespace internal {
/// Odd multiples are far apart; the numbers wrap.
inline constexpr uint64_t kSeedStep = 0x9E3779B97F4A7C15;
}  // namespace internal

/// Of the mask of A in hop `hop` (with one mask for all: hop 0), and of that of the state after the hop.
constexpr uint64_t diffusion_attention_seed(uint64_t seed, int64_t hop) {
  return seed + internal::kSeedStep * (2 * static_cast<uint64_t>(hop) + 1);
}
constexpr uint64_t diffusion_hop_seed(uint64_t seed, int64_t hop) {
  return seed + internal::kSeedStep * (2 * static_cast<uint64_t>(hop) + 2);
}

}  // namespace longspan
