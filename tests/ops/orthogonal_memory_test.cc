#include "longspan/ops/orthogonal_memory/orthogonal_memory.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>

#include <cmath>
#include <limits>

#include "longspan/ops/backend_log.h"
#include "longspan/ops/orthogonal_memory/dispatch.h"
#include "tests/ops/tensors.h"

namespace longspan::ops {
namespace {

struct Shape {
  const char* form;
  int64_t batch, heads, queries, sources, width, slots, basis_heads;
  double scale;
  int64_t group = 1;  // heads that share one of m
  OrthogonalMemoryOptions options = {};
};

std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.form << " B" << s.batch << " H" << s.heads << " N" << s.queries << " M" << s.sources << " D"
             << s.width << " R" << s.slots << " bases " << s.basis_heads << " scale " << s.scale << " group " << s.group
             << " window " << s.options.window << " dropout " << s.options.dropout << " " << s.options.accumulator;
}

// Rows of norm about 1: an orthogonal basis in all that the bounds use of it.
at::Tensor random_basis(int64_t heads, int64_t slots, int64_t width) {
  return randn({heads, slots, width}) / std::sqrt(static_cast<double>(width));
}

struct Operands {
  std::vector<at::Tensor> tensors;  // q, m, basis
  at::Tensor dout;
  Shape shape;

  explicit Operands(const Shape& s) : shape(s) {
    tensors = {randn({s.batch, s.heads, s.queries, s.width}), randn({s.batch, s.heads / s.group, s.sources, s.width}),
               random_basis(s.basis_heads, s.slots, s.width)};
    dout = randn({s.batch, s.heads, s.queries, s.width});
  }
  at::Tensor run(const std::vector<at::Tensor>& t, const char* backend) const {
    OrthogonalMemoryOptions options = shape.options;
    options.scale = shape.scale;
    options.backend = backend;
    if (options.dropout > 0) options.dropout_seed = at::scalar_tensor(77, at::kLong);
    return orthogonal_memory(t[0], t[1], t[2], shape.form, options);
  }
};

// First-order error bounds of forward and backward in `dtype`, sums in float64. Names as in
// docs/ops/orthogonal_memory.md; a letter is the largest magnitude of the quantity, e_ its error. p sums to 1 over the
// slots, so sums of p times something need no factor of R beyond the rounding of the sum.
struct Bounds {
  double out, dq, dm, dbasis;

  Bounds(const Operands& x, at::ScalarType dtype) {
    const Shape& s = x.shape;
    const double u = roundoff(dtype), c = std::abs(s.scale);
    const double q = max_norm(x.tensors[0]), m = max_norm(x.tensors[1]), b = max_norm(x.tensors[2]);
    const double kept = 1 / (1 - s.options.dropout), group = static_cast<double>(s.group);
    const double g = kept * max_norm(x.dout), width = sum_bound(dtype, s.width), slots = sum_bound(dtype, s.slots);
    // A mean of z is no longer than the longest z; its float64 sum and the cast add 2 u, a sum in float32 a rounding
    // for each term, in both forms.
    const bool coarse = s.options.accumulator != "float64";
    const double H = b * m, e_H = width * H + 2 * u * H + (coarse ? 2 * s.sources * roundoff(at::kFloat) * H : 0);
    const double A = b * q, e_A = width * A;
    const double e_S = c * (e_H * A + H * e_A + 3 * u * H * A);
    const double e_p = 2 * e_S + 4 * u + slots;  // relative, as in local attention
    const double e_U = e_p * H + e_H + u * H;    // of U = p o H, times p
    out = kSecondOrder * kept * b * (e_U + slots * H + u * H);
    const double dU = b * g, e_dU = width * dU;
    const double dP = dU * H, e_dP = e_dU * H + dU * e_H + u * dP;
    const double dS = 2 * dP, e_dS = 2 * e_dP + (3 * e_p + slots + 3 * u) * dS;  // times p
    const double dA = c * dS * H, e_dA = c * (e_dS * H + dS * e_H) + 3 * u * dA;
    dq = kSecondOrder * b * (e_dA + slots * dA);
    const double dH = dU + c * dS * A, e_dH = e_dU + e_p * dU + c * (e_dS * A + dS * e_A) + 4 * u * dH;
    // dz_j sums dH_t / N_t over its readers.
    double readers = 0;
    if (std::string(s.form) == "causal")
      for (int64_t t = 0; t < s.queries; ++t) {
        const int64_t seen = s.options.window > 0 ? t / s.options.window * s.options.window : t + 1;
        if (seen > 0) readers += 1.0 / static_cast<double>(seen);
      }
    else
      readers = static_cast<double>(s.queries) / static_cast<double>(std::max<int64_t>(s.sources, 1));
    const double dz = readers * dH, e_dz = readers * e_dH + 3 * u * dz;
    dm = kSecondOrder * group * b * (e_dz + (slots + group * u) * dz);
    const int64_t shared = s.batch * (s.basis_heads == 1 ? s.heads : 1);
    const int64_t rows = shared * s.queries, sources = shared * s.sources;
    dbasis = kSecondOrder *
             (rows * g * (e_U + sum_bound(dtype, rows) * H) + rows * q * (e_dA + sum_bound(dtype, rows) * dA) +
              sources * m * (e_dz + sum_bound(dtype, sources) * dz));
  }
  double of(std::size_t input) const { return std::vector<double>{dq, dm, dbasis}[input]; }
};

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

constexpr const char* kAccumulators[] = {"float64", "float32_compensated", "float32"};

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

/// Counts what tensors allocate.
class CountingAllocator final : public at::Allocator {
 public:
  at::DataPtr allocate(std::size_t bytes) override {
    total += static_cast<int64_t>(bytes);
    return inner_->allocate(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { inner_->copy_data(to, from, bytes); }
  at::DeleterFnPtr raw_deleter() const override { return inner_->raw_deleter(); }
  int64_t total = 0;

 private:
  at::Allocator* inner_ = c10::GetCPUAllocator();
};

// The kernel's own memory is the matter of kernels/memory_cap_test.cc; the operator adds no copy of an operand.
TEST(OrthogonalMemoryBFloat16, AllocatesItsResultsOnly) {
  const auto bfloat16 = at::TensorOptions().dtype(at::kBFloat16);
  const at::Tensor q = at::zeros({1, 2, 4096, 64}, bfloat16), basis = at::zeros({2, 64, 64}, at::kFloat);
  const int64_t size = q.numel() * 2, small = size / 8;
  CountingAllocator counting;
  at::Allocator* const kept = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&counting);
  const at::NoGradGuard no_grad;
  orthogonal_memory(q, q, basis, "causal");
  const int64_t forward = counting.total;
  memory::call_backward(q, {q, q, basis}, "causal", {});
  c10::SetCPUAllocator(kept);
  EXPECT_LE(forward, size + small);
  EXPECT_LE(counting.total - forward, 2 * size + small);
}

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

TEST(OrthogonalMemoryExtend, ComposedFormKeepsTheSameState) {
  at::manual_seed(25);
  const at::Tensor q = randn({2, 2, 300, 6}), m = randn({2, 2, 300, 6}), basis = random_basis(2, 4, 6);
  OrthogonalMemoryState kernel = fresh(2, 2, 4), composed = fresh(2, 2, 4);
  kernel.count = composed.count = at::tensor({100, 212}, at::kLong);
  extend(q, m, basis, kernel);
  extend(q, m, basis, composed, {.backend = "reference"});
  // Sums of 300 values at most, each a product of rows.
  const double bound =
      2 * 300 * max_norm(m) * max_norm(basis) * (sum_bound(at::kDouble, 6) + sum_bound(at::kDouble, 300));
  EXPECT_TRUE(near(kernel.closed, composed.closed, bound));
  EXPECT_TRUE(near(kernel.open, composed.open, bound));
  EXPECT_TRUE(kernel.count.equal(composed.count));
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

TEST(OrthogonalMemoryExtend, BothFormsRefuseNegativeCounts) {
  const at::Tensor q = at::zeros({2, 2, 3, 6}), basis = random_basis(2, 4, 6).to(at::kFloat);
  for (const char* backend : {"kernel", "composed", "reference"}) {
    OrthogonalMemoryState state = fresh(2, 2, 4);
    state.count = at::tensor({5, -1}, at::kLong);
    EXPECT_EQ(value_error([&] { extend(q, q, basis, state, {.backend = backend}); }),
              "orthogonal_memory_extend: count: expected 0 or more, got -1 at index 1");
  }
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
}  // namespace longspan::ops
