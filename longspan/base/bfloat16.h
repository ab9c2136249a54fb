// bfloat16 as a storage type: the upper half of a float32.
#pragma once

#include <bit>
#include <cstdint>

namespace longspan {

struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  /// The nearest bfloat16, ties to even; NaN stays NaN.
  explicit BFloat16(float x) {
    const uint32_t word = std::bit_cast<uint32_t>(x);
    const bool nan = (word & 0x7FFFFFFFu) > 0x7F800000u;
    bits = static_cast<uint16_t>(nan ? word >> 16 | 0x40u : (word + 0x7FFFu + (word >> 16 & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};
static_assert(sizeof(BFloat16) == 2);

/// The type in which elements stored as S are computed with.
template <class S>
struct ComputedAs {
  using type = S;
};
template <>
struct ComputedAs<BFloat16> {
  using type = float;
};
template <class S>
using Computed = typename ComputedAs<S>::type;

}  // namespace longspan
