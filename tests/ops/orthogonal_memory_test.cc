#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "longspan/ops/backend_log.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"
#include "tests/ops/counting_allocator.h"
#include "tests/ops/memory_case.h"

namespace longspan::ops::memory_test {
namespace {

class OrthogonalMemoryTest : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override { at::manual_seed(21); }
};

TEST_P(OrthogonalMemoryTest, EqualsReference) { expect_equals_reference<Bounds>(Operands(GetParam())); }

INSTANTIATE_TEST_SUITE_P(
    Shapes, OrthogonalMemoryTest,
    ::testing::Values(Shape{"causal", 1, 1, 1, 1, 1, 1, 1, 1}, Shape{"causal", 2, 3, 17, 17, 8, 5, 3, 1},
                      Shape{"causal", 1, 2, 600, 600, 33, 16, 1, 0.5}, Shape{"causal", 1, 1, 300, 300, 64, 64, 1, 1},
                      Shape{"full", 2, 3, 17, 17, 8, 8, 3, 1}, Shape{"full", 2, 2, 40, 530, 20, 7, 1, 2},
                      Shape{"full", 1, 2, 9, 1, 4, 4, 2, 1}));

std::vector<Shape> option_shapes() {
  std::vector<Shape> shapes;
  for (const int64_t window : {0, 1, 3, 100, 256, 400})
    for (const double dropout : {0.0, 0.25})
      shapes.push_back({"causal",
                        2,
                        4,
                        310,
                        310,
                        8,
                        5,
                        4,
                        1,
                        window % 2 == 0 ? 2 : 1,
                        {.window = window, .accumulator = kAccumulators[shapes.size() % 3], .dropout = dropout}});
  for (const double dropout : {0.0, 0.5})
    for (const char* accumulator : kAccumulators)
      shapes.push_back({"full", 2, 6, 20, 40, 8, 5, 1, 1, 3, {.accumulator = accumulator, .dropout = dropout}});
  return shapes;
}
INSTANTIATE_TEST_SUITE_P(Options, OrthogonalMemoryTest, ::testing::ValuesIn(option_shapes()));

// The kernel reads and writes bfloat16 itself: forward and every gradient against the composed form in float64 of the
// same numbers, with one rounding of each result. Features and basis may be float32.
TEST(OrthogonalMemoryBFloat16, EqualsComposedForm) {
  at::manual_seed(28);
  std::vector<std::string> ran;
  set_backend_log([&](std::string_view, std::string_view backend, std::string_view) { ran.emplace_back(backend); });
  std::vector<Shape> shapes = option_shapes();
  shapes.push_back({"causal", 1, 2, 600, 600, 64, 32, 2, 1});
  for (const Shape& shape : shapes)
    for (const auto features : {at::kBFloat16, at::kFloat})
      for (const auto bases : {at::kBFloat16, at::kFloat}) {
        SCOPED_TRACE(::testing::Message() << shape << " features " << features << " bases " << bases);
        Operands x(shape);
        const std::vector<at::ScalarType> dtypes = {at::kBFloat16, features, bases};
        for (int i = 0; i < 3; ++i) x.tensors[i] = x.tensors[i].to(dtypes[i]).to(at::kDouble);
        x.dout = x.dout.to(at::kBFloat16).to(at::kDouble);
        const auto exact_inputs = leaves(x.tensors, at::kDouble);
        const at::Tensor exact = x.run(exact_inputs, "reference");
        const auto exact_gradients = torch::autograd::grad({(exact * x.dout).sum()}, exact_inputs);
        ran.clear();
        std::vector<at::Tensor> inputs;
        for (int i = 0; i < 3; ++i) inputs.push_back(leaves({x.tensors[i]}, dtypes[i])[0]);
        const at::Tensor out = x.run(inputs, "auto");
        EXPECT_EQ(ran, std::vector<std::string>{"kernel"});
        EXPECT_EQ(out.scalar_type(), at::kBFloat16);
        const Bounds bounds(x, at::kFloat);
        const auto rounding = [](at::ScalarType dtype, const at::Tensor& t) {
          return dtype == at::kBFloat16 ? 0x1p-8 * max_abs(t) : 0.0;
        };
        EXPECT_TRUE(near(out.to(at::kDouble), exact, bounds.out + rounding(at::kBFloat16, exact)));
        const auto gradients = torch::autograd::grad({out}, inputs, {x.dout.to(at::kBFloat16)});
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(gradients[i].scalar_type(), dtypes[i]);
          EXPECT_TRUE(near(gradients[i].to(at::kDouble), exact_gradients[i],
                           bounds.of(i) + rounding(dtypes[i], exact_gradients[i])))
              << "gradient of input " << i;
        }
      }
  set_backend_log({});
}

// The kernel's own memory is the matter of kernels/memory_cap_test.cc; the operator adds no copy of an operand.
TEST(OrthogonalMemoryBFloat16, AllocatesItsResultsOnly) {
  const auto bfloat16 = at::TensorOptions().dtype(at::kBFloat16);
  const at::Tensor q = at::zeros({1, 2, 4096, 64}, bfloat16), basis = at::zeros({2, 64, 64}, at::kFloat);
  const int64_t size = static_cast<int64_t>(q.nbytes()), small = size / 8;
  const at::NoGradGuard no_grad;
  const CountingAllocator counter;
  const at::Tensor out = orthogonal_memory(q, q, basis, "causal");
  const int64_t forward = counter.bytes;
  memory::call_backward(q, {q, q, basis}, "causal", {});
  EXPECT_GE(forward, size);
  EXPECT_LE(forward, size + small);
  EXPECT_GE(counter.bytes - forward, 2 * size);
  EXPECT_LE(counter.bytes - forward, 2 * size + small);
}

// What stands in another sequence of the pack, NaN too, is never read.
TEST(OrthogonalMemory, PackedSequencesAreIsolated) {
  at::manual_seed(26);
  const at::Tensor q = randn({1, 2, 40, 6}, at::kFloat), m = randn({1, 2, 40, 6}, at::kFloat);
  const at::Tensor basis = random_basis(2, 4, 6).to(at::kFloat), cu = at::tensor({0, 11, 11, 25, 40}, at::kInt);
  at::Tensor bad = m.clone();
  bad.narrow(2, 0, 11).fill_(std::numeric_limits<float>::quiet_NaN());
  bad.narrow(2, 25, 15).fill_(std::numeric_limits<float>::infinity());
  for (const char* form : {"causal", "full"}) {
    const at::Tensor alone = orthogonal_memory(q.narrow(2, 11, 14), m.narrow(2, 11, 14), basis, form);
    EXPECT_TRUE(same_bits(orthogonal_memory(q, m, basis, form, {.cu_seqlens = cu}).narrow(2, 11, 14), alone)) << form;
    EXPECT_TRUE(same_bits(orthogonal_memory(q, bad, basis, form, {.cu_seqlens = cu}).narrow(2, 11, 14), alone)) << form;
  }
}

TEST(OrthogonalMemory, ErrorsAreValueErrorsWithOneLine) {
  const at::Tensor q = at::zeros({1, 1, 2, 3});
  EXPECT_EQ(value_error([&] { orthogonal_memory(q, q, at::zeros({2, 2, 3}), "causal"); }),
            "orthogonal_memory: basis: expected [H = 1, R, D = 3] or [1, R, D], R >= 1, got [2, 2, 3]");
}

}  // namespace
}  // namespace longspan::ops::memory_test
