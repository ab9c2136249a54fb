// Streams: orthogonal_memory_extend.
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <tuple>

#include "tests/ops/memory_case.h"

namespace longspan::ops::memory_test {
namespace {

OrthogonalMemoryState fresh(int64_t streams, int64_t heads, int64_t slots,
                            const OrthogonalMemoryOptions& options = {}) {
  const bool wide = options.accumulator == "float64", paired = options.accumulator == "float32_compensated";
  const at::Tensor zero = at::zeros({streams, heads, paired ? 2 * slots : slots}, wide ? at::kDouble : at::kFloat);
  OrthogonalMemoryState state{zero, zero.clone(), at::zeros({streams}, at::kLong)};
  if (options.window > 0) state.visible = at::zeros({streams, heads, slots}, at::kDouble);
  return state;
}

at::Tensor extend(const at::Tensor& q, const at::Tensor& m, const at::Tensor& basis, OrthogonalMemoryState& state,
                  const OrthogonalMemoryOptions& options = {}) {
  at::Tensor out;
  std::tie(out, state) = orthogonal_memory_extend(q, m, basis, state, options);
  return out;
}

// Any cutting gives the same bits as one call, and the same state.
TEST(OrthogonalMemoryExtend, CutsChangeNoBit) {
  at::manual_seed(22);
  std::vector<OrthogonalMemoryOptions> variants;
  for (const char* accumulator : kAccumulators)
    for (const int64_t window : {0, 30}) variants.push_back({.window = window, .accumulator = accumulator});
  variants.push_back({.window = 300, .dropout = 0.5, .dropout_seed = at::scalar_tensor(3, at::kLong)});
  constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kBFloat16};
  for (std::size_t i = 0; i < 3 * variants.size(); ++i) {
    const OrthogonalMemoryOptions& options = variants[i / 3];
    const auto dtype = kDtypes[i % 3];
    SCOPED_TRACE(::testing::Message() << dtype << " " << options.accumulator << " window " << options.window);
    const at::Tensor q = randn({2, 2, 530, 9}, dtype), m = randn({2, 2, 530, 9}, dtype);
    const at::Tensor basis = random_basis(2, 5, 9).to(dtype);
    const at::Tensor whole = orthogonal_memory(q, m, basis, "causal", options);
    OrthogonalMemoryState at_once = fresh(2, 2, 5, options);
    EXPECT_TRUE(same_bits(extend(q, m, basis, at_once, options), whole));
    for (const std::vector<int64_t>& cuts :
         {std::vector<int64_t>{1, 529}, {255, 1, 274}, {256, 256, 18}, {0, 100, 0, 156, 1, 273}, {511, 2, 17}}) {
      OrthogonalMemoryState state = fresh(2, 2, 5, options);
      std::vector<at::Tensor> parts;
      int64_t begin = 0;
      for (const int64_t size : cuts) {
        parts.push_back(extend(q.narrow(2, begin, size), m.narrow(2, begin, size), basis, state, options));
        begin += size;
      }
      EXPECT_TRUE(same_bits(at::cat(parts, 2), whole)) << "first cut " << cuts[0];
      EXPECT_TRUE(same_bits(state.closed, at_once.closed));
      EXPECT_TRUE(same_bits(state.open, at_once.open));
      if (options.window > 0) {
        EXPECT_TRUE(same_bits(*state.visible, *at_once.visible));
      }
      EXPECT_TRUE(state.count.equal(at::full({2}, 530, at::kLong)));
    }
  }
}

// Streams of different ages, each with its own number of new rows.
TEST(OrthogonalMemoryExtend, PackedStreamsAreTheirOwn) {
  at::manual_seed(23);
  const at::Tensor basis = random_basis(1, 4, 6).to(at::kFloat);
  const std::vector<int64_t> ages = {0, 300, 255}, sizes = {3, 0, 260};
  std::vector<at::Tensor> new_q, new_m, expected;
  std::vector<OrthogonalMemoryState> states, after;
  for (int s = 0; s < 3; ++s) {
    OrthogonalMemoryState state = fresh(1, 2, 4);
    extend(randn({1, 2, ages[s], 6}, at::kFloat), randn({1, 2, ages[s], 6}, at::kFloat), basis, state);
    states.push_back(state);
    new_q.push_back(randn({1, 2, sizes[s], 6}, at::kFloat));
    new_m.push_back(randn({1, 2, sizes[s], 6}, at::kFloat));
    expected.push_back(extend(new_q[s], new_m[s], basis, state));
    after.push_back(state);
  }
  const auto stack = [](const std::vector<OrthogonalMemoryState>& list) {
    return OrthogonalMemoryState{at::cat({list[0].closed, list[1].closed, list[2].closed}),
                                 at::cat({list[0].open, list[1].open, list[2].open}),
                                 at::cat({list[0].count, list[1].count, list[2].count})};
  };
  OrthogonalMemoryState packed = stack(states);
  const OrthogonalMemoryState wanted = stack(after);
  const at::Tensor out = extend(at::cat(new_q, 2), at::cat(new_m, 2), basis, packed,
                                {.cu_seqlens = at::tensor({0, 3, 3, 263}, at::kLong)});
  EXPECT_TRUE(same_bits(out, at::cat(expected, 2)));
  EXPECT_TRUE(same_bits(packed.closed, wanted.closed));
  EXPECT_TRUE(same_bits(packed.open, wanted.open));
  EXPECT_TRUE(packed.count.equal(wanted.count));
}

// Differentiating through the cuts is differentiating the whole, for every accumulator: the gradient is that of exact
// sums, but for the rounding of the state's gradients to the state's dtype.
TEST(OrthogonalMemoryExtend, GradientsThroughCuts) {
  at::manual_seed(24);
  for (const char* accumulator : kAccumulators)
    for (const int64_t window : {0, 40, 300}) {
      SCOPED_TRACE(::testing::Message() << accumulator << " window " << window);
      const OrthogonalMemoryOptions options{.window = window, .accumulator = accumulator};
      const Operands x({"causal", 1, 2, 520, 520, 6, 4, 2, 1, 1, options});
      const auto whole = leaves(x.tensors, at::kDouble), cut = leaves(x.tensors, at::kDouble);
      const auto expected = torch::autograd::grad({(x.run(whole, "kernel") * x.dout).sum()}, whole);
      OrthogonalMemoryState state = fresh(1, 2, 4, options);
      std::vector<at::Tensor> parts;
      for (int64_t begin = 0; begin < 520; begin += 130)
        parts.push_back(extend(cut[0].narrow(2, begin, 130), cut[1].narrow(2, begin, 130), cut[2], state, options));
      const auto gradients = torch::autograd::grad({(at::cat(parts, 2) * x.dout).sum()}, cut);
      const bool coarse = options.accumulator != "float64";
      const Bounds bounds(x, coarse ? at::kFloat : at::kDouble);
      for (std::size_t i = 0; i < gradients.size(); ++i)
        EXPECT_TRUE(near(gradients[i], expected[i], 2 * bounds.of(i))) << "gradient of input " << i;
    }
}

TEST(OrthogonalMemoryExtend, EveryFormKeepsTheSameState) {
  at::manual_seed(25);
  const at::Tensor q = randn({2, 2, 300, 6}), m = randn({2, 2, 300, 6}), basis = random_basis(2, 4, 6);
  const auto after = [&](const char* backend, int64_t window) {
    const OrthogonalMemoryOptions options{.window = window, .backend = backend};
    OrthogonalMemoryState state = fresh(2, 2, 4, options);
    state.count = at::tensor({100, 212}, at::kLong);
    extend(q, m, basis, state, options);
    return state;
  };
  // Sums of 300 values at most, each a product of rows; a mean is shorter, but for its own rounding.
  const double bound =
      2 * 300 * max_norm(m) * max_norm(basis) * (sum_bound(at::kDouble, 6) + sum_bound(at::kDouble, 300));
  for (const int64_t window : {0, 70}) {
    const OrthogonalMemoryState kernel = after("kernel", window);
    for (const char* backend : {"composed", "reference"}) {
      SCOPED_TRACE(::testing::Message() << backend << " window " << window);
      const OrthogonalMemoryState other = after(backend, window);
      EXPECT_TRUE(near(kernel.closed, other.closed, bound));
      EXPECT_TRUE(near(kernel.open, other.open, bound));
      EXPECT_TRUE(kernel.count.equal(other.count));
      ASSERT_EQ(kernel.visible.has_value(), window > 0);
      ASSERT_EQ(other.visible.has_value(), window > 0);
      if (window > 0) {
        EXPECT_TRUE(near(*kernel.visible, *other.visible, bound));
      }
    }
  }
}

// What stands in another stream, NaN too, reaches neither the results nor the gradients of this one; only the basis is
// shared. Both as a batch and as a pack, from within a chunk over its border.
TEST(OrthogonalMemoryExtend, GradientsOfStreamsAreIsolated) {
  at::manual_seed(27);
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor basis = random_basis(2, 5, 9).to(dtype), count = at::tensor({200, 200}, at::kLong);
    at::Tensor q = randn({2, 2, 300, 9}, dtype), m = randn({2, 2, 300, 9}, dtype), dout = randn({2, 2, 300, 9}, dtype);
    at::Tensor closed = randn({2, 2, 5}), open = randn({2, 2, 5}), dclosed = randn({2, 2, 5}), dopen = randn({2, 2, 5});
    const std::vector<at::Tensor*> all = {&q, &m, &dout, &closed, &open, &dclosed, &dopen};
    // q, m, closed, open -> out, closed, open and the gradients of the inputs.
    const auto run = [&](const std::vector<at::Tensor>& t, const at::Tensor& n, const std::optional<at::Tensor>& cu) {
      const std::vector<at::Tensor> x = {leaves({t[0]}, dtype)[0], leaves({t[1]}, dtype)[0],
                                         leaves({t[3]}, at::kDouble)[0], leaves({t[4]}, at::kDouble)[0]};
      const auto [out, after] = orthogonal_memory_extend(x[0], x[1], basis, {x[2], x[3], n}, {.cu_seqlens = cu});
      std::vector<at::Tensor> results = {out, after.closed, after.open};
      const auto gradients = torch::autograd::grad(results, x, {t[2], t[5], t[6]});
      results.insert(results.end(), gradients.begin(), gradients.end());
      return results;
    };
    std::vector<at::Tensor> alone, batch, pack;
    for (at::Tensor* t : all) {
      alone.push_back(t->narrow(0, 1, 1).clone());
      t->select(0, 0).fill_(std::numeric_limits<double>::quiet_NaN());
      batch.push_back(*t);
      // [2, 2, 300, 9] -> [1, 2, 600, 9]; the state keeps its two rows.
      pack.push_back(t->dim() == 4 ? at::cat({t->narrow(0, 0, 1), t->narrow(0, 1, 1)}, 2) : *t);
    }
    const auto expected = run(alone, count.narrow(0, 1, 1), std::nullopt);
    const auto together = run(batch, count, std::nullopt),
               packed = run(pack, count, at::tensor({0, 300, 600}, at::kLong));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(expected[i].isfinite().all().item<bool>()) << "result " << i;
      EXPECT_TRUE(same_bits(together[i].narrow(0, 1, 1), expected[i])) << "result " << i << " in a batch";
      const at::Tensor second = packed[i].dim() == 4 ? packed[i].narrow(2, 300, 300) : packed[i].narrow(0, 1, 1);
      EXPECT_TRUE(same_bits(second, expected[i])) << "result " << i << " in a pack";
    }
  }
}

// The results do not alias the state either, also when nothing is to be done.
TEST(OrthogonalMemoryExtend, APackOfNoStreams) {
  const at::Tensor q = at::zeros({1, 2, 0, 6}), basis = random_basis(2, 4, 6).to(at::kFloat);
  for (const char* backend : {"kernel", "composed", "reference"}) {
    SCOPED_TRACE(backend);
    OrthogonalMemoryState state = fresh(0, 2, 4);
    EXPECT_EQ(extend(q, q, basis, state, {.cu_seqlens = at::tensor({0}, at::kLong), .backend = backend}).sizes(),
              q.sizes());
    EXPECT_EQ(state.closed.sizes(), (std::vector<int64_t>{0, 2, 4}));
    EXPECT_EQ(state.open.sizes(), (std::vector<int64_t>{0, 2, 4}));
    EXPECT_EQ(state.count.sizes(), (std::vector<int64_t>{0}));
  }
}

TEST(OrthogonalMemoryExtend, EveryFormRefusesNegativeCounts) {
  const at::Tensor q = at::zeros({2, 2, 3, 6}), basis = random_basis(2, 4, 6).to(at::kFloat);
  for (const char* backend : {"kernel", "composed", "reference"}) {
    OrthogonalMemoryState state = fresh(2, 2, 4);
    state.count = at::tensor({5, -1}, at::kLong);
    EXPECT_EQ(value_error([&] { extend(q, q, basis, state, {.backend = backend}); }),
              "orthogonal_memory_extend: count: expected 0 or more, got -1 at index 1");
  }
}

}  // namespace
}  // namespace longspan::ops::memory_test
