// What the composed forms promise beyond their values, which are compared with the reference where the kernels' are.
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

#include "longspan/base/dropout.h"
#include "longspan/ops/common/dropout.h"
#include "longspan/ops/common/packing.h"
#include "longspan/ops/delta_memory/delta_memory.h"
#include "longspan/ops/local_attention/local_attention.h"
#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"
#include "tests/ops/tensors.h"

namespace longspan::ops {
namespace {

TEST(DropoutMask, DecidesAsTheScalarDefinition) {
  const int64_t seed = -0x123456789abcdef;
  const double p = 0.3;
  const Dropout scalar{p, static_cast<uint64_t>(seed)};
  const DropoutMask mask(p, at::scalar_tensor(seed, at::kLong), at::ones({1}));
  const int64_t rows = 3, heads = 2, queries = 5, keys = 11, first = (int64_t{1} << 32) - 2;
  const auto count = [](int64_t n) { return at::arange(n, at::kLong); };
  const at::Tensor factors =
      mask.apply(at::ones({rows, heads, queries, keys}, at::kDouble), count(rows).view({rows, 1, 1, 1}),
                 count(heads).view({heads, 1, 1}), (first + count(queries)).view({queries, 1}), count(3));
  int64_t dropped = 0;
  for (int64_t b = 0; b < rows; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t j = 0; j < keys; ++j) {
          const auto word = [](int64_t x) { return static_cast<uint32_t>(x); };
          const bool kept = scalar.keeps(word(b), word(h), word(first + i), word(j));
          dropped += kept ? 0 : 1;
          ASSERT_EQ(factors[b][h][i][j].item<double>(), kept ? scalar.scale() : 0) << b << h << i << j;
        }
  EXPECT_GT(dropped, 0);
}

// Sums of small integers are exact in any order.
TEST(RowSequences, ScanAndSumStayWithinASequence) {
  const std::vector<int64_t> borders = {0, 300, 300, 301, 1500, 1501};
  const RowSequences rows(at::tensor(borders, at::kInt), 1, 1501, at::ones({1}));
  const at::Tensor x = (at::arange(2 * 1501 * 3, at::kDouble).remainder(17) - 8).view({1, 2, 1501, 3});
  const at::Tensor scan = rows.scan(x), sums = rows.sum(x);
  ASSERT_EQ(sums.sizes(), (std::vector<int64_t>{5, 2, 3}));
  for (std::size_t s = 0; s + 1 < borders.size(); ++s) {
    const int64_t begin = borders[s], size = borders[s + 1] - begin;
    const at::Tensor one = x.narrow(2, begin, size);
    EXPECT_TRUE(scan.narrow(2, begin, size).equal(one.cumsum(2))) << "sequence " << s;
    EXPECT_TRUE(sums[s].equal(one.sum(2)[0])) << "sequence " << s;
  }
}

/// Watches the allocator of the CPU on this thread.
class Watch : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t size, std::size_t, std::size_t, c10::Device) override {
    held_ += size;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0, peak_ = 0;
};

template <class F>
int64_t peak_bytes(F&& f) {
  const auto watch = std::make_shared<Watch>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, watch);
  f();
  return watch->peak();
}

// Forward and backward of n rows with everything recorded: what does not depend on n only makes the ratio smaller.
void expect_linear_memory(const std::function<at::Tensor(const std::vector<at::Tensor>&)>& run) {
  const auto peak = [&](int64_t n) {
    const auto inputs = leaves({randn({1, 2, n, 16}), randn({1, 2, n, 16}), randn({1, 8, 16})}, at::kFloat);
    return peak_bytes([&] { run(inputs).sum().backward(); });
  };
  const int64_t small = peak(2048), large = peak(16384);
  EXPECT_GT(small, 0);
  EXPECT_LE(large, 8 * small);
}

TEST(ComposedForm, MemoryIsLinearInTheLength) {
  for (const bool delta : {true, false})
    expect_linear_memory([delta](const auto& t) {
      return std::get<0>(delta_memory(t[0], t[0], t[1], t[1].select(3, 0).sigmoid(), -t[1].square(), std::nullopt,
                                      {.delta = delta, .backend = "composed"}));
    });
  expect_linear_memory([](const auto& t) {
    return local_attention(t[0], t[1], t[1], std::nullopt, {.reach_left = 15, .backend = "composed"});
  });
  for (const char* form : {"causal", "full"})
    expect_linear_memory(
        [&](const auto& t) { return orthogonal_memory(t[0], t[1], t[2], form, {.backend = "composed"}); });
  expect_linear_memory([](const auto& t) {
    const at::Tensor cu = at::arange(0, t[0].size(2) + 1, t[0].size(2) / 8, at::kLong);
    return local_attention(t[0], t[1], t[1], std::nullopt,
                           {.reach_left = 15, .reach_right = 15, .cu_seqlens = cu, .backend = "composed"}) +
           orthogonal_memory(t[0], t[1], t[2], "causal", {.cu_seqlens = cu, .backend = "composed"});
  });
}

}  // namespace
}  // namespace longspan::ops
