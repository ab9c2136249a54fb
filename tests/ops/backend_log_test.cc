#include "longspan/ops/backend_log.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "longspan/ops/diffusion/diffusion.h"
#include "longspan/ops/local_attention/local_attention.h"
#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"
#include "longspan/patterns/build.h"
#include "tests/ops/tensors.h"

namespace longspan::ops {
namespace {

class BackendLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_backend_log([this](std::string_view op, std::string_view backend, std::string_view reason) {
      lines.push_back(std::string(op) + ": " + std::string(backend) + ": " + std::string(reason));
    });
  }
  void TearDown() override { set_backend_log({}); }

  void attend(at::ScalarType dtype, const char* backend) {
    const at::Tensor q = at::zeros({1, 2, 3, 4}, at::TensorOptions().dtype(dtype)).requires_grad_(true);
    local_attention(q, q, q, std::nullopt, {.reach_left = 1, .backend = backend}).sum().backward();
  }

  std::vector<std::string> lines;
};

TEST_F(BackendLogTest, OneLineForEachForwardPass) {
  attend(at::kFloat, "auto");
  attend(at::kDouble, "kernel");
  attend(at::kBFloat16, "auto");
  attend(at::kHalf, "auto");
  attend(at::kFloat, "reference");
  {
    const at::NoGradGuard no_grad;
    local_attention(at::zeros({1, 2, 3, 4}), at::zeros({1, 2, 3, 4}), at::zeros({1, 2, 3, 4}), std::nullopt,
                    {.reach_left = 1});
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"local_attention: kernel: there is a kernel for float32 on cpu",
                                             "local_attention: kernel: asked for",
                                             "local_attention: kernel: there is a kernel for bfloat16 on cpu",
                                             "local_attention: composed: there is no kernel for float16 on cpu",
                                             "local_attention: reference: asked for",
                                             "local_attention: kernel: there is a kernel for float32 on cpu"}));
}

TEST_F(BackendLogTest, NamesTheOperator) {
  const at::Tensor q = at::zeros({1, 2, 3, 4}), basis = at::zeros({1, 2, 4});
  const at::Tensor sums = at::zeros({1, 2, 2}, at::kDouble), count = at::zeros({1}, at::kLong);
  orthogonal_memory(q, q, basis, "full");
  orthogonal_memory_extend(q, q, basis, {sums, sums, count}, {.backend = "reference"});
  const DiffusionPatterns pattern{{pattern_tensor(patterns::build_pattern(patterns::pattern_options("full"), 3))}};
  diffusion(q, q, q, at::zeros({1, 3}), pattern, {});
  diffusion_extend(q, q, q, at::zeros({1, 3}), at::zeros({1, 2, 1, 0, 4}), pattern, {}, {.backend = "composed"});
  EXPECT_EQ(lines, (std::vector<std::string>{"orthogonal_memory: kernel: there is a kernel for float32 on cpu",
                                             "orthogonal_memory_extend: reference: asked for",
                                             "diffusion: kernel: there is a kernel for float32 on cpu",
                                             "diffusion_extend: composed: asked for"}));
}

TEST_F(BackendLogTest, EndsAndPassesExceptionsOn) {
  set_backend_log({});
  attend(at::kFloat, "auto");
  EXPECT_TRUE(lines.empty());
  set_backend_log([](auto...) { throw std::runtime_error("enough"); });
  EXPECT_THROW(attend(at::kFloat, "auto"), std::runtime_error);
}

}  // namespace
}  // namespace longspan::ops
