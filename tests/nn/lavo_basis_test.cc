#include "longspan/nn/lavo_basis.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/sgd.h>

#include "support.h"

namespace longspan::nn {
namespace {

at::Tensor identity_defect(const at::Tensor& basis, double gain) {
  return at::matmul(basis, basis.transpose(-1, -2)) - at::eye(basis.size(-2), basis.options()) * gain * gain;
}

/// Parameters start in the dtype that they are compared in.
class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType dtype) : before_(torch::get_default_dtype()) {
    torch::set_default_dtype(at::scalarTypeToTypeMeta(dtype));
  }
  ~DefaultDtype() { torch::set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

 private:
  caffe2::TypeMeta before_;
};

AttentionPtr with_mode(const std::string& mode, const std::string& sharing = "per_head", double gain = 1) {
  torch::manual_seed(5);
  return make_attention(
      "lavo", Pattern::causal_self, kSizes,
      {{"r", int64_t{6}}, {"w", int64_t{3}}, {"basis_mode", mode}, {"basis_sharing", sharing}, {"basis_gain", gain}});
}

TEST(LavoBasis, StartsOrthogonal) {
  const DefaultDtype dtype(at::kDouble);
  torch::manual_seed(1);
  const at::Tensor basis = make_basis(3, 5, 8, 1.5);
  EXPECT_TRUE(close(identity_defect(basis, 1.5), at::zeros({3, 5, 5}), 1e-14));
  EXPECT_FALSE(basis[0].equal(basis[1])) << "every head has a seed of its own";
}

TEST(LavoBasis, StaysOrthogonalInTraining) {
  for (const auto& [type, bound] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 1e-6}})
    for (const char* mode : {"qr", "cayley", "householder"})
      for (const char* sharing : {"per_head", "shared_heads", "sliced"}) {
        SCOPED_TRACE(str_cat(mode, " ", sharing));
        const DefaultDtype dtype(type);
        const double gain = 1.5;
        const auto module = with_mode(mode, sharing, gain);
        torch::optim::SGD sgd(module->parameters(), 0.3);
        const at::Tensor x = normal({2, 9, 16}, 1).to(type);
        const auto rows = [&] {  // the rows that are orthogonal: sliced ones across all heads
          const at::Tensor basis = module->inspect(x).at("basis");
          return std::string(sharing) == "sliced" ? basis.transpose(0, 1).reshape({6, 16}) : basis;
        };
        const at::Tensor start = rows().clone();
        EXPECT_TRUE(close(identity_defect(start, gain), at::zeros_like(identity_defect(start, gain)), bound));
        for (int step = 0; step < 100; ++step) {
          sgd.zero_grad();
          (module->forward(x) - 1).square().mean().backward();
          sgd.step();
          module->after_step();
        }
        EXPECT_GT((rows() - start).abs().max().item<double>(), 1e-3) << "the basis is trained";
        EXPECT_TRUE(close(identity_defect(rows(), gain), at::zeros_like(identity_defect(start, gain)), bound));
      }
}

TEST(LavoBasis, SlotsAreOrthogonalAtEveryPosition) {
  const DefaultDtype dtype(at::kDouble);
  const auto module = with_mode("qr");
  const auto seen = module->inspect(normal({2, 20, 16}, 1));
  const at::Tensor slots = seen.at("slots").unsqueeze(-1) * seen.at("basis").unsqueeze(1);  // [B, H, N, R, D]
  const at::Tensor products = at::matmul(slots, slots.transpose(-1, -2));
  const at::Tensor across = products - at::diag_embed(products.diagonal(0, -2, -1));
  // Rows of norm |H_i| <= the largest; a product of two sums 8 terms of a basis that is orthogonal to 1e-14.
  const double most = seen.at("slots").abs().max().item<double>();
  EXPECT_TRUE(close(across, at::zeros_like(across), most * most * 2e-14));
}

TEST(LavoBasis, RetractionLeavesAnOrthogonalBasisAlone) {
  at::Tensor basis = make_basis(2, 4, 8, 2.0).to(at::kDouble);
  retract_basis(basis, 2.0);
  const at::Tensor before = basis.clone();
  retract_basis(basis, 2.0);
  EXPECT_TRUE(close(basis, before, 2.0 * 8 * 16 * testing::unit_roundoff<double>()));
}

// With Q = (I - W)(I + W)^-1, M = (I + W)^-1 and G = dL/dQ: dL/dW = -(I + Q)^T G M^T, of which an entry above the
// diagonal takes G_W[i][j] - G_W[j][i] (specification A.4).
TEST(LavoBasis, CayleyHasTheGradientOfTheSpecification) {
  const int64_t width = 5, slots = 3;
  const at::Tensor upper = (normal({1, 10}, 1) * 0.5).requires_grad_();
  const at::Tensor start = 1.5 * std::get<0>(at::linalg_qr(normal({1, width, width}, 2)));
  const at::Tensor weight = normal({1, slots, width}, 3);
  const at::Tensor rows = cayley_rows(upper, start, slots);

  at::Tensor w = at::zeros({width, width}, float64());
  int64_t entry = 0;
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = i + 1; j < width; ++j) {
      w[i][j] = upper.detach()[0][entry];
      w[j][i] = -upper.detach()[0][entry++];
    }
  const at::Tensor one = at::eye(width, float64()), m = at::linalg_inv(one + w), q = at::matmul(one - w, m);
  // Sums of 5 terms below 1, an inverse of norm at most 1.
  const double bound = 64 * testing::sum_bound<double>(width);
  EXPECT_TRUE(close(rows[0], at::matmul(q, start[0]).narrow(0, 0, slots), bound));

  const at::Tensor got = torch::autograd::grad({(rows * weight).sum()}, {upper})[0];
  at::Tensor gq = at::zeros({width, width}, float64());
  gq.narrow(0, 0, slots).copy_(at::matmul(weight[0], start[0].t()));
  const at::Tensor gw = -at::matmul(at::matmul((one + q).t(), gq), m.t());
  entry = 0;
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = i + 1; j < width; ++j)
      EXPECT_NEAR(got[0][entry++].item<double>(), (gw[i][j] - gw[j][i]).item<double>(), 10 * bound);
}

TEST(LavoBasis, HouseholderIsAProductOfReflections) {
  const int64_t width = 6, slots = 4;
  const at::Tensor vectors = normal({2, slots, width}, 1);
  const at::Tensor got = householder_rows(vectors, 1.5);
  for (int64_t g = 0; g < 2; ++g) {
    at::Tensor product = at::eye(width, float64());
    for (int64_t i = 0; i < slots; ++i) {
      const at::Tensor u = vectors[g][i];
      product = at::matmul(product, at::eye(width, float64()) - at::outer(u, u) * (2 / u.dot(u)));
    }
    // Four products of 6 x 6 orthogonal matrices.
    EXPECT_TRUE(close(got[g], 1.5 * product.narrow(0, 0, slots), 1.5 * slots * 4 * testing::sum_bound<double>(width)));
  }
}

TEST(LavoBasis, SoftAddsItsPenaltyToTheLoss) {
  const DefaultDtype dtype(at::kDouble);
  const auto module = with_mode("soft", "per_head", 1.5);
  at::Tensor basis = module->named_parameters()["basis"];
  EXPECT_NEAR(module->auxiliary_loss().item<double>(), 0, 1e-25) << "the start is orthogonal";
  {
    const at::NoGradGuard no_grad;
    basis.copy_(normal({2, 6, 8}, 1));
  }
  const at::Tensor loss = module->auxiliary_loss(), gram = identity_defect(basis.detach(), 1.5);
  EXPECT_NEAR(loss.item<double>(), 1e-3 * gram.square().sum().item<double>(), loss.item<double>() * 1e-13);
  loss.backward();
  const at::Tensor expected = 4e-3 * at::matmul(gram, basis.detach());
  EXPECT_TRUE(close(basis.grad(), expected, expected.abs().max().item<double>() * 1e-13));
  for (const char* mode : {"frozen", "qr", "cayley", "householder", "free"})
    EXPECT_FALSE(with_mode(mode)->auxiliary_loss().defined()) << mode;
}

TEST(LavoBasis, ModesDecideWhatIsStored) {
  const auto stored = [](const AttentionPtr& module, bool parameters) {
    std::map<std::string, std::vector<int64_t>> out;
    const auto all = parameters ? module->named_parameters() : module->named_buffers();
    for (const auto& item : all)
      if (item.key().starts_with("basis")) out[item.key()] = item.value().sizes().vec();
    return out;
  };
  using Stored = std::map<std::string, std::vector<int64_t>>;
  EXPECT_EQ(stored(with_mode("frozen"), true), Stored());
  EXPECT_EQ(stored(with_mode("frozen"), false), (Stored{{"basis", {2, 6, 8}}}));
  for (const char* mode : {"qr", "soft", "free"}) {
    EXPECT_EQ(stored(with_mode(mode), true), (Stored{{"basis", {2, 6, 8}}}));
    EXPECT_EQ(stored(with_mode(mode, "shared_heads"), true), (Stored{{"basis", {1, 6, 8}}}));
    EXPECT_EQ(stored(with_mode(mode, "sliced"), true), (Stored{{"basis", {1, 6, 16}}}));
  }
  EXPECT_EQ(stored(with_mode("cayley"), true), (Stored{{"basis_skew", {2, 28}}}));
  EXPECT_EQ(stored(with_mode("cayley"), false), (Stored{{"basis_start", {2, 8, 8}}}));
  EXPECT_EQ(stored(with_mode("householder", "sliced"), true), (Stored{{"basis_vectors", {1, 6, 16}}}));

  const auto free = with_mode("free");
  {
    const at::NoGradGuard no_grad;
    free->named_parameters()["basis"].fill_(1);
  }
  free->after_step();
  EXPECT_TRUE(free->named_parameters()["basis"].eq(1).all().item<bool>()) << "free is left alone";
}

}  // namespace
}  // namespace longspan::nn
