#include "longspan/ops/common/dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/broadcast_tensors.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <array>
#include <cstdint>
#include <vector>

#include "longspan/base/dropout.h"

namespace longspan::ops {
namespace {

// 32-bit words are held in int64.
constexpr int64_t kMask = 0xffffffff;

at::Tensor low_word(const at::Tensor& x) { return x.bitwise_and(kMask); }
at::Tensor high_word(const at::Tensor& x) { return at::bitwise_right_shift(x, 32); }

struct Product {
  at::Tensor high, low;
};

// The 64 bits of word * factor. As factor is at least 2^31, factor - 2^32 is short enough for int64 to hold its product
// with any word; the low word is the same, and the high one lacks one time the word.
Product multiply(const at::Tensor& word, int64_t factor) {
  const at::Tensor product = word * (factor - (kMask + 1));
  return {high_word(product) + word, low_word(product)};
}

using Block = std::array<at::Tensor, 4>;

// base/rng.h's philox4x32 of each counter.
Block philox4x32(Block c, at::Tensor key0, at::Tensor key1) {
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key0 = low_word(key0 + int64_t{0x9E3779B9});
      key1 = low_word(key1 + int64_t{0xBB67AE85});
    }
    const Product a = multiply(c[0], 0xD2511F53), b = multiply(c[2], 0xCD9E8D57);
    c = {b.high.bitwise_xor(c[1]).bitwise_xor(key0), b.low, a.high.bitwise_xor(c[3]).bitwise_xor(key1), a.low};
  }
  return c;
}

}  // namespace

DropoutMask::DropoutMask(double probability, const OptionalTensor& seed, const at::Tensor& like)
    : probability_(probability) {
  if (!active()) return;
  const at::Tensor here = seed->to(like.device(), /*non_blocking=*/true);
  key_[0] = low_word(here);
  key_[1] = low_word(high_word(here));
}

at::Tensor DropoutMask::apply(const at::Tensor& p, const at::Tensor& row, const at::Tensor& head, const at::Tensor& i,
                              const at::Tensor& group, const at::Tensor& shift) const {
  const Dropout dropout{probability_, 0};
  const auto threshold = static_cast<int64_t>(dropout.threshold());
  // Flat counters: broadcasting in each of the calls would cost more than the copies, most of all over symbolic sizes.
  const auto counters = at::broadcast_tensors({i, group, head, row});
  const auto flat = [&](int word) { return low_word(counters[word]).reshape(-1); };
  Block words = philox4x32({flat(0), flat(1), flat(2), flat(3)}, key_[0], key_[1]);
  for (at::Tensor& word : words) word = word < threshold;
  std::vector<c10::SymInt> sizes = counters[0].sym_sizes().vec();
  sizes.back() = sizes.back() * 4;
  const c10::SymInt columns = p.sym_size(-1);
  at::Tensor dropped = at::stack(words, -1).view_symint(sizes);
  if (shift.defined()) {
    sizes.back() = columns;
    dropped = dropped.gather(-1, (shift + at::arange(columns, shift.options())).expand_symint(sizes));
  } else {
    dropped = dropped.narrow_symint(-1, 0, columns);
  }
  return p.masked_fill(dropped, 0) * dropout.scale();
}

at::Tensor DropoutMask::apply_at(const at::Tensor& p, const at::Tensor& row, const at::Tensor& head,
                                 const at::Tensor& i, const at::Tensor& j) const {
  const Dropout dropout{probability_, 0};
  const auto counters = at::broadcast_tensors({i, at::bitwise_right_shift(j, 2), head, row});
  const auto flat = [&](int word) { return low_word(counters[word]).reshape(-1); };
  const Block words = philox4x32({flat(0), flat(1), flat(2), flat(3)}, key_[0], key_[1]);
  const at::Tensor which = j.bitwise_and(3).expand_symint(counters[0].sym_sizes()).reshape(-1);
  const at::Tensor word =
      at::where(which < 2, at::where(which == 0, words[0], words[1]), at::where(which == 2, words[2], words[3]));
  const at::Tensor dropped = word < static_cast<int64_t>(dropout.threshold());
  return p.masked_fill(dropped.view_symint(counters[0].sym_sizes()), 0) * dropout.scale();
}

}  // namespace longspan::ops
