// Loads and stores of bfloat16 and the blocks of dropout against their scalar definitions, on every target.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/simd/storage_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "longspan/simd/dropout-inl.h"
#include "longspan/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longspan::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace vec = simd::HWY_NAMESPACE;

// to[0..n) = from[0..n), whole vectors and a tail.
template <class From, class To>
void copy(const From* from, int64_t n, To* to) {
  const vec::TileTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) vec::StoreTo(d, vec::LoadFrom(d, from + i), to + i);
  vec::StoreN(d, vec::LoadN(d, from + i, n - i), to + i, n - i);
}
void narrow(const float* from, int64_t n, BFloat16* to) { copy(from, n, to); }
void widen(const BFloat16* from, int64_t n, float* to) { copy(from, n, to); }

void block_float(const Dropout& dropout, int64_t row, int64_t head, int64_t start, int64_t i, int64_t j,
                 float* factors) {
  vec::dropout_block(HeadDropout{dropout, row, head, start}, i, j, static_cast<float>(dropout.scale()), factors);
}
void block_double(const Dropout& dropout, int64_t row, int64_t head, int64_t start, int64_t i, int64_t j,
                  double* factors) {
  vec::dropout_block(HeadDropout{dropout, row, head, start}, i, j, dropout.scale(), factors);
}

}  // namespace longspan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include "longspan/simd/target.h"

namespace longspan {
namespace {

HWY_EXPORT(narrow);
HWY_EXPORT(widen);
HWY_EXPORT(block_float);
HWY_EXPORT(block_double);

// Lengths around every vector width, NaN behind the end of what is read, and what lies behind what is written.
TEST(Storage, BFloat16AsItsScalarDefinition) {
  simd::ensure_target();
  for (int64_t n = 0; n <= 67; ++n) {
    std::vector<float> from(static_cast<std::size_t>(n) + 1, std::numeric_limits<float>::quiet_NaN());
    for (int64_t i = 0; i < n; ++i) {
      // Ties, both neighbours of ties, NaN, infinities and ordinary numbers of both signs.
      const uint32_t word = 0x3F808000u + static_cast<uint32_t>(i % 3 - 1) + (static_cast<uint32_t>(i) << 16);
      from[static_cast<std::size_t>(i)] = i % 11 == 7   ? std::bit_cast<float>(0x7F800001u)
                                          : i % 11 == 9 ? -std::numeric_limits<float>::infinity()
                                                        : std::bit_cast<float>(word | (i % 2 ? 0x80000000u : 0u));
    }
    std::vector<BFloat16> half(from.size(), BFloat16(5.0f));
    HWY_DYNAMIC_DISPATCH(narrow)(from.data(), n, half.data());
    std::vector<float> back(from.size(), 5.0f);
    HWY_DYNAMIC_DISPATCH(widen)(half.data(), n, back.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      EXPECT_EQ(half[i].bits, BFloat16(from[i]).bits) << i << " of " << n;
      EXPECT_EQ(std::bit_cast<uint32_t>(back[i]), std::bit_cast<uint32_t>(static_cast<float>(half[i])));
    }
    EXPECT_EQ(static_cast<float>(half.back()), 5.0f);
    EXPECT_EQ(back.back(), 5.0f);
  }
}

template <class T, class Block>
void expect_definition(Block block) {
  for (const double p : {1e-12, 0.1, 0.5, 0.999})
    for (const uint64_t seed : {uint64_t{0}, uint64_t{0x9876543210fedcba}, ~uint64_t{0}}) {
      const Dropout dropout{p, seed};
      for (const int64_t i : {int64_t{0}, int64_t{160}, int64_t{0xFFFFFFF0}})
        for (const int64_t j : {int64_t{0}, int64_t{48}, int64_t{0x7FFFFFF0}})
          for (const int64_t start : {int64_t{0}, int64_t{8}, int64_t{13}, (int64_t{1} << 35) + 2}) {
            alignas(64) T factors[256];
            block(dropout, 3, 5, start, i, j, factors);
            for (int64_t key = 0; key < 16; ++key)
              for (int64_t lane = 0; lane < 16; ++lane)
                ASSERT_EQ(factors[key * 16 + lane], dropout.keeps(3, 5, start + i + lane, start + j + key)
                                                        ? static_cast<T>(dropout.scale())
                                                        : T(0))
                    << "p " << p << " seed " << seed << " query " << i + lane << " key " << j + key << " of " << start;
          }
    }
}

TEST(DropoutBlock, AsItsScalarDefinition) {
  simd::ensure_target();
  expect_definition<float>(HWY_DYNAMIC_DISPATCH(block_float));
  expect_definition<double>(HWY_DYNAMIC_DISPATCH(block_double));
}

}  // namespace
}  // namespace longspan
#endif  // HWY_ONCE
