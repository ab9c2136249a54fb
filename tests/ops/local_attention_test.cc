#include "longspan/ops/local_attention/local_attention.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>
#include <string>

#include "longspan/ops/backend_log.h"
#include "tests/ops/counting_allocator.h"
#include "tests/ops/tensors.h"

namespace longspan::ops {
namespace {

struct Shape {
  int64_t batch, heads, queries, keys, width, value_width, reach_left, reach_right;
  int64_t table_heads;    // 0: no table
  int64_t key_heads = 0;  // 0: heads
  double dropout = 0;
};

std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << "B" << s.batch << " H" << s.heads << " N" << s.queries << " M" << s.keys << " D" << s.width << " Dv"
             << s.value_width << " left " << s.reach_left << " right " << s.reach_right << " table " << s.table_heads
             << " Hk" << s.key_heads << " dropout " << s.dropout;
}

struct Operands {
  std::vector<at::Tensor> tensors;  // q, k, v and the table, if any
  at::Tensor dout, seed = at::scalar_tensor(int64_t{-77}, at::kLong);
  Shape shape;

  explicit Operands(const Shape& s) : shape(s) {
    const int64_t key_heads = s.key_heads ? s.key_heads : s.heads;
    tensors = {randn({s.batch, s.heads, s.queries, s.width}), randn({s.batch, key_heads, s.keys, s.width}),
               randn({s.batch, key_heads, s.keys, s.value_width})};
    if (s.table_heads) tensors.push_back(randn({s.table_heads, 2 * std::max(s.reach_left, s.reach_right) + 3}));
    dout = randn({s.batch, s.heads, s.queries, s.value_width});
  }

  at::Tensor run(const std::vector<at::Tensor>& t, const char* backend) const {
    return local_attention(t[0], t[1], t[2], t.size() > 3 ? std::optional(t[3]) : std::nullopt,
                           {.reach_left = shape.reach_left,
                            .reach_right = shape.reach_right,
                            .dropout = shape.dropout,
                            .dropout_seed = seed,
                            .backend = backend});
  }
};

// First-order error bounds of forward and backward in `dtype` (u: its roundoff), for operands whose rows have the
// norms below; |<a, b>| and the sum of |a_c b_c| are at most the product of the norms.
struct Bounds {
  double out, dq, dk, dv, dtable;

  Bounds(const Operands& x, at::ScalarType dtype) {
    const Shape& s = x.shape;
    const double u = roundoff(dtype);
    const double scale = 1 / std::sqrt(static_cast<double>(s.width));
    // Dropout multiplies kept weights, and so what they meet, by f, which has two roundings of its own.
    const double f = 1 / (1 - s.dropout), dropped = s.dropout > 0 ? 2 * u : 0;
    const double q = max_norm(x.tensors[0]), k = max_norm(x.tensors[1]), v = f * max_norm(x.tensors[2]);
    const double table = x.tensors.size() > 3 ? max_abs(x.tensors[3]) : 0, g = max_norm(x.dout);
    const int64_t seen = std::min(s.keys, s.reach_left + s.reach_right + 1);  // keys of a query
    const int64_t group = s.key_heads ? s.heads / s.key_heads : 1;
    // Queries of a key.
    const int64_t readers = group * std::min(s.queries, s.reach_left + s.reach_right + 1);
    // Scores: dot product, scale, table. A score off by e makes its exponential off by a factor of 1 + e, and so the
    // normalised probability by 2 e at most; exp itself and the normalising sum add 4 u and the sum's bound.
    const double score = sum_bound(dtype, s.width) * scale * q * k + 2 * u * (scale * q * k + table);
    const double p = 2 * score + 4 * u + sum_bound(dtype, seen) + dropped;
    out = kSecondOrder * (p + sum_bound(dtype, seen)) * v;
    // ds = p (dp - delta), |dp|, |delta| <= g v; delta is a sum over the row or <dout, out>.
    const double dp = g * v;
    const double ds = sum_bound(dtype, s.value_width) * dp * 2 + g * out + 2 * p * dp + 2 * u * dp;
    dq = kSecondOrder * scale * k * (ds + sum_bound(dtype, seen) * 2 * dp);
    dk = kSecondOrder * scale * q * readers * (ds + sum_bound(dtype, readers) * 2 * dp);
    dv = kSecondOrder * f * g * readers * (p + sum_bound(dtype, readers));
    const int64_t terms = s.batch * s.queries * (s.table_heads == 1 ? s.heads : 1);
    dtable = kSecondOrder * terms * (ds + sum_bound(dtype, terms) * 2 * dp);
  }
  double of(std::size_t input) const { return std::vector<double>{dq, dk, dv, dtable}[input]; }
};

class LocalAttentionTest : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override { at::manual_seed(11); }
};

TEST_P(LocalAttentionTest, EqualsReference) { expect_equals_reference<Bounds>(Operands(GetParam())); }

INSTANTIATE_TEST_SUITE_P(
    Shapes, LocalAttentionTest,
    ::testing::Values(Shape{1, 1, 1, 1, 1, 1, 0, 0, 0}, Shape{2, 3, 17, 17, 8, 8, 4, 0, 3},
                      Shape{1, 2, 65, 65, 16, 5, 15, 15, 1}, Shape{2, 2, 7, 40, 33, 9, 20, 3, 2},
                      Shape{1, 1, 300, 300, 64, 64, 63, 0, 1}, Shape{1, 2, 10, 10, 4, 4, 100, 100, 2},
                      Shape{2, 6, 40, 40, 8, 8, 15, 3, 6, 2}, Shape{1, 4, 20, 33, 8, 5, 7, 0, 1, 1},
                      Shape{2, 3, 40, 40, 8, 8, 15, 3, 3, 3, 0.25}, Shape{2, 4, 20, 33, 8, 5, 7, 0, 1, 2, 0.6}));

TEST(LocalAttention, LogSumExp) {
  at::manual_seed(12);
  const Operands x({2, 2, 9, 12, 8, 4, 3, 1, 2});
  const auto run = [&](const char* backend) {
    return std::get<1>(local_attention_forward(x.tensors[0], x.tensors[1], x.tensors[2], x.tensors[3],
                                               {.reach_left = 3, .reach_right = 1, .backend = backend}));
  };
  // A score is off by `score` of Bounds; the sum of 5 exponentials and its logarithm add their own.
  const double q = max_norm(x.tensors[0]), k = max_norm(x.tensors[1]);
  const double score =
      sum_bound(at::kDouble, 8) * q * k / std::sqrt(8.0) + 2 * roundoff(at::kDouble) * (q * k + max_abs(x.tensors[3]));
  const double magnitude = q * k + max_abs(x.tensors[3]) + std::log(5.0);
  EXPECT_TRUE(near(run("kernel"), run("reference"), 2 * (score + sum_bound(at::kDouble, 9) * (1 + magnitude))));
}

// Rows computed with the past's keys at hand are the rows of the whole.
TEST(LocalAttention, LastQueriesAreThoseOfTheWhole) {
  at::manual_seed(13);
  const at::Tensor q = randn({2, 2, 50, 8}, at::kFloat), k = randn({2, 2, 50, 8}, at::kFloat),
                   v = randn({2, 2, 50, 8}, at::kFloat);
  const at::Tensor whole = local_attention(q, k, v, std::nullopt, {.reach_left = 7});
  for (int64_t cut : {1, 7, 8, 16, 49}) {
    const int64_t past = std::max<int64_t>(0, cut - 7);
    const at::Tensor rest = local_attention(q.narrow(2, cut, 50 - cut), k.narrow(2, past, 50 - past),
                                            v.narrow(2, past, 50 - past), std::nullopt, {.reach_left = 7});
    EXPECT_TRUE(same_bits(rest, whole.narrow(2, cut, 50 - cut))) << "cut at " << cut;
  }
}

TEST(LocalAttention, StridesChangeNoBit) {
  at::manual_seed(14);
  const Operands x({2, 3, 20, 20, 8, 8, 5, 0, 3});
  const auto plain = leaves(x.tensors, at::kFloat);
  const at::Tensor dout = x.dout.to(at::kFloat);
  const at::Tensor out = x.run(plain, "auto");
  const auto gradients = torch::autograd::grad({(out * dout).sum()}, plain);
  auto swapped = leaves(x.tensors, at::kFloat);
  for (int i = 0; i < 3; ++i)
    swapped[i] = swapped[i].detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_(true);
  const at::Tensor other = x.run(swapped, "auto");
  EXPECT_TRUE(same_bits(other, out));
  EXPECT_TRUE(other.transpose(1, 2).is_contiguous());
  // The incoming gradient with strides too.
  const at::Tensor strided = at::cat({dout.unsqueeze(-1), dout.unsqueeze(-1)}, -1).select(-1, 0);
  ASSERT_NE(strided.stride(-1), 1);
  const auto others = torch::autograd::grad({other}, swapped, {strided});
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_TRUE(same_bits(others[i], gradients[i])) << "gradient " << i;
}

// What stands in another sequence of the pack, NaN too, is never read.
TEST(LocalAttention, PackedSequencesAreIsolated) {
  at::manual_seed(15);
  const Operands x({1, 2, 40, 40, 8, 8, 6, 6, 2});
  auto inputs = leaves(x.tensors, at::kFloat);
  const at::Tensor cu = at::tensor({0, 11, 11, 25, 40}, at::kInt);
  auto poisoned = leaves(x.tensors, at::kFloat);
  for (int i = 0; i < 3; ++i) {
    const at::NoGradGuard no_grad;
    poisoned[i].narrow(2, 0, 11).fill_(std::numeric_limits<float>::quiet_NaN());
    poisoned[i].narrow(2, 25, 15).fill_(std::numeric_limits<float>::infinity());
  }
  const auto run = [&](const std::vector<at::Tensor>& t) {
    return local_attention(t[0], t[1], t[2], t[3], {.reach_left = 6, .reach_right = 6, .cu_seqlens = cu})
        .narrow(2, 11, 14);
  };
  const auto alone_inputs = leaves(
      {x.tensors[0].narrow(2, 11, 14), x.tensors[1].narrow(2, 11, 14), x.tensors[2].narrow(2, 11, 14), x.tensors[3]},
      at::kFloat);
  const at::Tensor alone = local_attention(alone_inputs[0], alone_inputs[1], alone_inputs[2], alone_inputs[3],
                                           {.reach_left = 6, .reach_right = 6});
  EXPECT_TRUE(same_bits(run(inputs), alone));
  EXPECT_TRUE(same_bits(run(poisoned), alone));
  const at::Tensor dout = x.dout.to(at::kFloat).narrow(2, 11, 14);
  const auto packed = torch::autograd::grad({(run(inputs) * dout).sum()}, {inputs[0], inputs[1], inputs[2]});
  const auto single =
      torch::autograd::grad({(alone * dout).sum()}, {alone_inputs[0], alone_inputs[1], alone_inputs[2]});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(packed[i].narrow(2, 11, 14), single[i])) << "gradient " << i;
}

// The kernel reads and writes bfloat16 as it lies in memory: nothing is allocated but the results.
TEST(LocalAttention, BFloat16TakesTheKernelWithoutACopy) {
  at::manual_seed(17);
  const Operands x({2, 4, 500, 500, 64, 64, 63, 0, 4, 2});
  std::vector<std::string> ran;
  set_backend_log([&](auto, auto backend, auto) { ran.emplace_back(backend); });
  for (const bool wide : {false, true}) {
    const auto inputs = leaves({x.tensors[0], x.tensors[1], x.tensors[2]}, at::kBFloat16);
    const at::Tensor table = x.tensors[3].to(at::kFloat).requires_grad_(true);
    const at::Tensor dout = x.dout.to(wide ? at::kFloat : at::kBFloat16);
    const CountingAllocator counter;
    const auto [out, lse] =
        local_attention_forward(inputs[0], inputs[1], inputs[2], table, {.reach_left = 63, .float32_out = wide});
    EXPECT_EQ(out.scalar_type(), dout.scalar_type());
    const auto gradients = torch::autograd::grad({out}, {inputs[0], inputs[1], inputs[2], table}, {dout});
    std::size_t results = out.nbytes() + lse.nbytes();
    for (const auto& gradient : gradients) results += gradient.nbytes();
    EXPECT_EQ(counter.bytes, static_cast<int64_t>(results));
  }
  set_backend_log({});
  EXPECT_EQ(ran, (std::vector<std::string>{"kernel", "kernel"}));
}

// Dropout counts packed sequences as it counts the rows of a batch.
TEST(LocalAttention, DropoutOfAPackIsThatOfItsBatch) {
  at::manual_seed(16);
  const Operands x({3, 2, 20, 20, 8, 8, 7, 0, 0, 0, 0.4});
  const auto pack = [](const at::Tensor& t) { return t.transpose(0, 1).reshape({1, 2, 60, 8}); };
  for (const char* backend : {"kernel", "composed", "reference"}) {
    const LocalAttentionOptions options{.reach_left = 7,
                                        .cu_seqlens = at::tensor({0, 20, 40, 60}, at::kLong),
                                        .dropout = x.shape.dropout,
                                        .dropout_seed = x.seed,
                                        .backend = backend};
    const at::Tensor packed =
        local_attention(pack(x.tensors[0]), pack(x.tensors[1]), pack(x.tensors[2]), std::nullopt, options);
    EXPECT_TRUE(near(packed, pack(x.run(x.tensors, backend)), 2 * Bounds(x, at::kDouble).out)) << backend;
  }
}

TEST(LocalAttention, ErrorsAreValueErrorsWithOneLine) {
  const at::Tensor q = at::zeros_like(randn({1, 1, 2, 3}));
  const auto error = [&](const at::Tensor& keys, const LocalAttentionOptions& options) {
    return value_error([&] { local_attention(q, keys, keys, std::nullopt, options); });
  };
  EXPECT_EQ(error(q.expand({1, 2, 2, 3}), {.reach_left = 1}),
            "local_attention: k: expected a number of heads Hk that divides H = 1, got [1, 2, 2, 3]");
  EXPECT_EQ(error(q, {.dropout = 1}), "local_attention: dropout: expected a probability in [0, 1), got 1");
  EXPECT_EQ(error(q, {.dropout = 0.5}), "local_attention: dropout_seed: expected with a dropout of 0.5, got none");
  EXPECT_EQ(error(q, {.dropout = 0.5, .dropout_seed = at::tensor({1, 2}, at::kLong)}),
            "local_attention: dropout_seed: expected no dimensions, got [2]");
  EXPECT_EQ(error(q, {.dropout = 0.5, .dropout_seed = at::scalar_tensor(1.0)}),
            "local_attention: dropout_seed: expected int64, got float32");
  const at::Tensor meta = at::empty({2}, at::TensorOptions().dtype(at::kLong).device(at::kMeta));
  EXPECT_EQ(error(q, {.cu_seqlens = meta}), "local_attention: cu_seqlens: expected a tensor on cpu, got device meta");
  EXPECT_EQ(value_error([&] { local_attention(q, q, q.narrow(2, 0, 1), std::nullopt, {.reach_left = 1}); }),
            "local_attention: v: expected [B = 1, Hk = 1, M = 2, Dv], got [1, 1, 1, 3]");
}

// Both forms, also where there is no sequence at all.
TEST(LocalAttention, BordersAreThoseOfTheRows) {
  const at::Tensor x = at::zeros({1, 2, 5, 3}), none = x.narrow(2, 0, 0);
  const at::Tensor zero = at::tensor({0}, at::kLong), seven = at::tensor({7}, at::kLong);
  for (const char* backend : {"kernel", "composed", "reference"}) {
    SCOPED_TRACE(backend);
    const auto run = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& cu, const at::Tensor& cu_k) {
      return local_attention(q, k, k, std::nullopt,
                             {.reach_left = 1, .cu_seqlens = cu, .cu_seqlens_k = cu_k, .backend = backend});
    };
    EXPECT_EQ(value_error([&] { run(x, x, zero, zero); }),
              "local_attention: cu_seqlens: expected a last border of 5, the number of rows, got 0");
    EXPECT_EQ(value_error([&] { run(x, x, seven, seven); }),
              "local_attention: cu_seqlens: expected a first border of 0, got 7");
    EXPECT_EQ(value_error([&] { run(none, x, zero, zero); }),
              "local_attention: cu_seqlens_k: expected a last border of 5, the number of rows, got 0");
    EXPECT_EQ(run(none, none, zero, zero).sizes(), none.sizes());
  }
}

}  // namespace
}  // namespace longspan::ops
