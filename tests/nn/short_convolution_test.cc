#include "longspan/nn/short_convolution.h"

#include <torch/csrc/autograd/autograd.h>

#include "plain_memory.h"

namespace longspan::nn {
namespace {

ShortConvolution convolution(torch::nn::Module& owner, int64_t taps) {
  torch::manual_seed(5);
  ShortConvolution out(owner, "conv", 3, 1, taps);
  owner.to(torch::kDouble);
  return out;
}

// Sums of at most `taps` products.
double bound(const torch::nn::Module& owner, const at::Tensor& x) {
  const at::Tensor weight = owner.named_parameters()["conv"];
  return testing::sum_bound<double>(weight.size(2)) * weight.abs().sum(2).max().item<double>() *
         x.abs().max().item<double>();
}

TEST(ShortConvolution, ReadsTheNewestRowsOfItsOwnSequence) {
  for (const int64_t taps : {1, 2, 4, 7}) {
    torch::nn::Module owner;
    const ShortConvolution conv = convolution(owner, taps);
    const at::Tensor weight = owner.named_parameters()["conv"].detach(), x = normal({1, 11, 3}, 1);
    EXPECT_TRUE(close(conv.forward(x, std::nullopt)[0], plain_convolution(x[0], weight), bound(owner, x)));
    const at::Tensor packed = conv.forward(x, at::tensor({0, 1, 1, 4, 11}, at::kLong));
    for (const auto& [first, length] : {std::pair<int64_t, int64_t>{0, 1}, {1, 3}, {4, 7}})
      EXPECT_TRUE(close(packed[0].narrow(0, first, length), plain_convolution(x[0].narrow(0, first, length), weight),
                        bound(owner, x)));
    EXPECT_EQ(conv.forward(x.narrow(1, 0, 0), std::nullopt).sizes(), (std::vector<int64_t>{1, 0, 3}));
    EXPECT_EQ(conv.forward(x.narrow(1, 0, 0), at::zeros({3}, at::kLong)).sizes(), (std::vector<int64_t>{1, 0, 3}));
  }
}

TEST(ShortConvolution, GoesOnWhereAStreamWasCut) {
  for (const int64_t taps : {1, 4}) {
    torch::nn::Module owner;
    const ShortConvolution conv = convolution(owner, taps);
    const at::Tensor x = normal({2, 11, 3}, 1), whole = conv.forward(x, std::nullopt);
    for (int64_t piece = 1; piece <= 11; ++piece) {
      State state({{"conv", at::zeros({2, taps - 1, 3}, float64())}});
      std::vector<at::Tensor> parts;
      for (int64_t at = 0; at < 11; at += piece)
        parts.push_back(conv.extend(state, x.narrow(1, at, std::min(piece, 11 - at)), std::nullopt));
      EXPECT_TRUE(close(at::cat(parts, 1), whole, bound(owner, x))) << piece;
      EXPECT_TRUE(state.at("conv").equal(x.narrow(1, 11 - (taps - 1), taps - 1)));
    }
    // One stream gets 2 rows, the other none, then 1 and 3.
    State state({{"conv", at::zeros({2, taps - 1, 3}, float64())}});
    const at::Tensor old = state.at("conv");
    const at::Tensor first = conv.extend(state, x.narrow(0, 0, 1).narrow(1, 0, 2), at::tensor({0, 2, 2}, at::kLong));
    const at::Tensor rest = at::cat({x[0].narrow(0, 2, 1), x[1].narrow(0, 0, 3)}).unsqueeze(0);
    const at::Tensor second = conv.extend(state, rest, at::tensor({0, 1, 4}, at::kLong));
    EXPECT_TRUE(close(first[0], whole[0].narrow(0, 0, 2), bound(owner, x)));
    EXPECT_TRUE(close(second[0].narrow(0, 0, 1), whole[0].narrow(0, 2, 1), bound(owner, x)));
    EXPECT_TRUE(close(second[0].narrow(0, 1, 3), whole[1].narrow(0, 0, 3), bound(owner, x)));
    EXPECT_TRUE(old.eq(0).all().item<bool>()) << "the old state was written into";
  }
}

TEST(ShortConvolution, GradientsAreThoseOfTheDefinition) {
  torch::nn::Module owner;
  const ShortConvolution conv = convolution(owner, 4);
  const at::Tensor weight = owner.named_parameters()["conv"];
  const at::Tensor x = normal({1, 9, 3}, 1).requires_grad_(), incoming = normal({1, 9, 3}, 2);
  const auto got = torch::autograd::grad({(conv.forward(x, std::nullopt) * incoming).sum()}, {x, weight});
  at::Tensor y = at::zeros({9, 3}, float64());
  for (int64_t i = 0; i < 4; ++i)
    y = y + at::constant_pad_nd(x[0].narrow(0, 0, 9 - i), {0, 0, i, 0}) * weight.select(2, 3 - i).squeeze(1);
  const auto expected = torch::autograd::grad({(y * incoming[0]).sum()}, {x, weight});
  const double most = 9 * testing::sum_bound<double>(9) * 25;  // operands stay below 5
  EXPECT_TRUE(close(got[0], expected[0], most));
  EXPECT_TRUE(close(got[1], expected[1], most));
}

// Six heads in threes: each three share the filters of one head of two channels.
TEST(ShortConvolution, HeadsShareFilters) {
  torch::nn::Module owner;
  torch::manual_seed(5);
  const ShortConvolution conv(owner, "conv", 2, 2, 4);
  owner.to(torch::kDouble);
  const at::Tensor x = normal({1, 9, 12}, 1), y = conv.forward(x, std::nullopt);
  for (int64_t head = 0; head < 6; ++head) {
    const at::Tensor weight = owner.named_parameters()["conv"].detach().narrow(0, head / 3 * 2, 2);
    EXPECT_TRUE(
        close(y[0].narrow(1, head * 2, 2), plain_convolution(x[0].narrow(1, head * 2, 2), weight), bound(owner, x)));
  }
}

TEST(ShortConvolution, StartsAsTheMeanOfTwo) {
  torch::nn::Module owner;
  ShortConvolution conv = convolution(owner, 4);
  conv.start_as_mean_of_two();
  const at::Tensor x = normal({1, 5, 3}, 1), y = conv.forward(x, std::nullopt);
  EXPECT_TRUE(close(y[0][3], (x[0][3] + x[0][2]) / 2, bound(owner, x)));
  EXPECT_TRUE(close(y[0][0], x[0][0] / 2, bound(owner, x)));
  torch::nn::Module single;
  ShortConvolution one = convolution(single, 1);
  one.start_as_mean_of_two();
  EXPECT_TRUE(one.forward(x, std::nullopt).equal(x));
}

}  // namespace
}  // namespace longspan::nn
