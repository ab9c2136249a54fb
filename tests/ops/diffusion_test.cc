// The interface of diffusion for C++: patterns as tensors, the call, a stream, coefficients. What it computes, in all
// forms, is compared in python/tests/test_diffusion.py and, the kernel, in tests/kernels.
#include "longspan/ops/diffusion/diffusion.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "longspan/patterns/build.h"
#include "tests/ops/tensors.h"

namespace longspan::ops {
namespace {

patterns::Pattern make(const std::string& name, int64_t n, const FieldValues& values = {}) {
  return patterns::build_pattern(patterns::pattern_options(name, values), n);
}

TEST(DiffusionTensors, PatternsGoToATensorAndBack) {
  for (const int64_t n : {0, 1, 50}) {
    const patterns::Pattern pattern = make("window_band+global+random", n, {{"k", int64_t{2}}, {"r", int64_t{3}}});
    const at::Tensor tensor = pattern_tensor(pattern);
    EXPECT_EQ(tensor.scalar_type(), at::kInt);
    EXPECT_EQ(pattern_of_tensor(tensor), pattern);
  }
  EXPECT_EQ(value_error([] { pattern_of_tensor(at::zeros({30}, at::kInt)); }),
            "pattern: expected a pattern as longspan::pattern makes it, got other numbers");
  EXPECT_EQ(value_error([] {
              pattern_of_tensor(at::zeros({2, 3}));
            }),
            "pattern: expected int32 [L] on the CPU, got float32 [2, 3] on cpu");
}

TEST(Diffusion, OneHopOverAllPairsIsSoftmaxAttention) {
  const at::Tensor q = randn({1, 2, 20, 4}), k = randn({1, 2, 20, 4}), v = randn({1, 2, 20, 3});
  const at::Tensor coefficients = diffusion_coefficients(DiffusionKind::single, 5, {}, {}, {});
  const at::Tensor out = diffusion(q, k, v, coefficients, {{pattern_tensor(make("full", 20))}}, {.scale = 0.3});
  const at::Tensor expected = at::softmax(q.matmul(k.transpose(-2, -1)) * 0.3, -1).matmul(v);
  EXPECT_TRUE(near(out, expected, 1e-14 * max_abs(v)));
}

// What was made of a pattern is kept beside its tensor, and goes by what stands in it now.
TEST(Diffusion, APatternThatIsKnownIsStillRead) {
  const int64_t n = 40;
  const auto random = [&](uint64_t seed) {
    return pattern_tensor(
        patterns::build_pattern(patterns::pattern_options("random", {{"r", int64_t{3}}}), n, {.seed = seed}));
  };
  const at::Tensor q = randn({1, 2, n, 4}), coefficients = diffusion_coefficients(DiffusionKind::single, 1, {}, {}, {});
  const auto run = [&](const at::Tensor& pattern) { return diffusion(q, q, q, coefficients, {{pattern}}, {}); };
  const at::Tensor one = random(1), two = random(2), of_one = run(one), of_two = run(two);
  ASSERT_EQ(one.numel(), two.numel());
  EXPECT_FALSE(same_bits(of_one, of_two));
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(same_bits(run(one), of_one));
  at::Tensor words = one.clone();
  EXPECT_TRUE(same_bits(run(words), of_one));
  words.copy_(two);  // the same memory, another pattern
  EXPECT_TRUE(same_bits(run(words), of_two));
  const int64_t last = words.numel() - 1;
  words.data_ptr<int32_t>()[last] += 1;  // nobody is told
  EXPECT_EQ(value_error([&] { run(words); }),
            "diffusion: patterns[0]: expected a pattern as longspan::pattern makes it, got one that was changed");
  words.data_ptr<int32_t>()[last] -= 1;
  EXPECT_TRUE(same_bits(run(words), of_two));
  // Memory of a pattern that is gone may be another's.
  for (uint64_t seed = 3; seed < 40; ++seed) {
    const at::Tensor fresh = random(seed);
    EXPECT_TRUE(same_bits(run(fresh), diffusion(q, q, q, coefficients, {{fresh}}, {.backend = "kernel"})));
    EXPECT_TRUE(
        near(run(fresh), diffusion(q, q, q, coefficients, {{fresh}}, {.backend = "reference"}), 1e-13 * max_abs(q)));
  }
}

TEST(Diffusion, StreamsGoOn) {
  const int64_t n = 30, cut = 17;
  const auto pattern = [](int64_t m) {
    return DiffusionPatterns{{pattern_tensor(make("window_band+random", m, {{"causal", true}, {"r", int64_t{2}}}))}};
  };
  const at::Tensor q = randn({1, 2, n, 4}), k = randn({1, 1, n, 4}), v = randn({1, 1, n, 3});
  const at::Tensor coefficients =
      diffusion_coefficients(DiffusionKind::ppr_iterate, 3, at::full({2}, 0.2, at::kDouble), {}, {});
  const at::Tensor whole = diffusion(q, k, v, coefficients, pattern(n), {});
  const at::Tensor none = at::zeros({1, 2, 3, 0, 3}, at::kDouble);
  const auto [first, states] = diffusion_extend(q.narrow(2, 0, cut), k.narrow(2, 0, cut), v.narrow(2, 0, cut),
                                                coefficients, none, pattern(cut), {}, {});
  const auto [second, more] = diffusion_extend(q.narrow(2, cut, n - cut), k, v.narrow(2, cut, n - cut), coefficients,
                                               states, pattern(n), {}, {});
  EXPECT_TRUE(same_bits(at::cat({first, second}, 2), whole));
  EXPECT_EQ(more.sizes(), (std::vector<int64_t>{1, 2, 3, n - cut, 3}));
  EXPECT_EQ(value_error([&] {
              diffusion_extend(q, k, v, coefficients, none, pattern(n), {}, {.valid = at::zeros({1, n}, at::kBool)});
            }),
            "diffusion_extend: valid: expected none, got one");
}

TEST(Diffusion, CoefficientsHaveAGradient) {
  const at::Tensor alpha = at::full({}, 0.1, at::kDouble).requires_grad_(true);
  const at::Tensor c = diffusion_coefficients(DiffusionKind::ppr_iterate, 2, alpha, {}, {});
  EXPECT_TRUE(near(c, at::tensor({1.0, 0.9, 0.1, 0.9, 0.1}, at::kDouble).unsqueeze(0), 1e-16));
  EXPECT_EQ(torch::autograd::grad({(c * at::arange(5, at::kDouble)).sum()}, {alpha})[0].item<double>(), 2);
}

}  // namespace
}  // namespace longspan::ops
