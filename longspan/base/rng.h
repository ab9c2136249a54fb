// A counter-based random generator: every number is a pure function of (seed, stream, position), so that a result
// depends neither on the order of calls nor on threads, and resuming needs no saved state beyond a position.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace longspan {

/// One block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The stream number of a tuple such as {purpose, step, row}: a 64-bit hash, different for every order and length.
uint64_t stream_of(std::initializer_list<uint64_t> parts);

/// Numbers of one stream. Streams of one seed, and equal streams of different seeds, are independent. Block b of the
/// stream is Philox with key = seed and counter = (b, stream), each as two 32-bit words, low word first; a block holds
/// two 64-bit numbers. Copyable; not to be shared by threads.
class Rng {
 public:
  explicit Rng(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  /// The next 64 bits of the stream.
  uint64_t bits();
  /// Uniform in [0, bound), without bias. Throws InputError unless bound >= 1.
  uint64_t below(uint64_t bound);
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();
  /// Standard normal by Box-Muller, always two 64-bit numbers each. Equal bits need an equal libm.
  double normal();

  /// How many 64-bit numbers were taken; setting it jumps there.
  uint64_t position() const { return position_; }
  void set_position(uint64_t position) { position_ = position; }

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t position_ = 0;
};

}  // namespace longspan
