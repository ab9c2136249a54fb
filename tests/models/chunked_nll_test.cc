#include "longspan/models/chunked_nll.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "longspan/train/tensor_memory.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

/// Rows at a time, and whether the scores have a bias.
class ChunkedNll : public ::testing::TestWithParam<std::tuple<int64_t, bool>> {};

TEST_P(ChunkedNll, ValueAndGradientsEqualTheDirectForm) {
  const auto [chunk, with_bias] = GetParam();
  torch::manual_seed(2);
  const int64_t rows = 37, width = 6, vocabulary = 19;
  const auto options = torch::TensorOptions().dtype(torch::kDouble);
  const at::Tensor hidden = torch::randn({rows, width}, options).requires_grad_();
  const at::Tensor weight = torch::randn({vocabulary, width}, options).requires_grad_();
  const at::Tensor bias = torch::randn({vocabulary}, options).requires_grad_();
  const at::Tensor targets = torch::randint(vocabulary, {rows}, torch::kLong);
  const at::Tensor factor = torch::randn({rows}, options);
  std::vector<at::Tensor> inputs = {hidden, weight};
  if (with_bias) inputs.push_back(bias);

  const at::Tensor nll = chunked_nll(hidden, weight, targets, chunk, with_bias ? bias : at::Tensor());
  const auto ours = torch::autograd::grad({nll}, inputs, {factor});
  at::Tensor logits = hidden.matmul(weight.t());
  if (with_bias) logits = logits + bias;
  const at::Tensor direct = -torch::log_softmax(logits, -1).gather(1, targets.unsqueeze(1)).squeeze(1);
  const auto theirs = torch::autograd::grad({direct}, inputs, {factor});

  // Logits reach about 4 sqrt(width); gradients of the weight sum `rows` products.
  const double u = testing::sum_bound<double>(rows + vocabulary + width) * 10;
  EXPECT_CLOSE(nll, direct, u * (1 + direct.abs().max().item<double>()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_CLOSE(ours[i], theirs[i], u * (1 + theirs[i].abs().max().item<double>()));
}

INSTANTIATE_TEST_SUITE_P(Chunks, ChunkedNll,
                         ::testing::Combine(::testing::Values(0, 1, 5, 36, 37, 1000), ::testing::Bool()));

TEST(ChunkedNllMemory, NothingOfAllLogitsStands) {
  const int64_t rows = 1000, width = 8, vocabulary = 50000, logit = sizeof(float);
  const at::Tensor hidden = torch::randn({rows, width}).requires_grad_();
  const at::Tensor weight = torch::randn({vocabulary, width}).requires_grad_();
  const at::Tensor targets = torch::randint(vocabulary, {rows}, torch::kLong);
  struct Allocations {
    int64_t peak, largest;
  };
  const auto step = [&](int64_t chunk) -> Allocations {
    const train::TensorMemory memory;
    chunked_nll(hidden, weight, targets, chunk).sum().backward();
    return {memory.peak(), memory.largest()};
  };
  // 2^22 / V rows at a time. Beside the logits stand their exponentials, and the gradient of the weight.
  const int64_t chunk = (int64_t{1} << 22) / vocabulary;
  const Allocations by_vocabulary = step(0);
  EXPECT_EQ(by_vocabulary.largest, chunk * vocabulary * logit);
  EXPECT_LT(by_vocabulary.peak, 3 * chunk * vocabulary * logit + 3 * vocabulary * width * logit);
  EXPECT_EQ(step(10).largest, 10 * vocabulary * logit);
  EXPECT_LT(by_vocabulary.largest * 10, rows * vocabulary * logit) << "the test could not see all logits";
}

TEST(ChunkedNllEdges, NoRowsAndNoGradient) {
  const at::Tensor weight = torch::randn({5, 4}).requires_grad_();
  EXPECT_EQ(chunked_nll(torch::zeros({0, 4}), weight, torch::zeros({0}, torch::kLong)).numel(), 0);
  EXPECT_FALSE(chunked_nll(torch::ones({2, 4}), weight.detach(), torch::zeros({2}, torch::kLong)).requires_grad());
}

TEST(ChunkedNllEdges, LargeLogitsStayFinite) {
  const at::Tensor hidden = torch::full({3, 1}, 1e4), weight = torch::tensor({{1.0f}, {-1.0f}});
  const at::Tensor nll = chunked_nll(hidden, weight, torch::tensor({0, 1, 0}), 2);
  EXPECT_EQ(nll[0].item<float>(), 0);
  EXPECT_EQ(nll[1].item<float>(), 2e4);
}

}  // namespace
}  // namespace longspan::models
