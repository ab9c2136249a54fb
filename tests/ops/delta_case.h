// A call of delta_memory on random operands, and its comparison with the recurrence in float64.
#pragma once

#include <ATen/ops/rand.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "longspan/ops/delta_memory/delta_memory.h"
#include "longspan/testing/reference/delta_reference.h"
#include "tests/kernels/delta_support.h"
#include "tests/ops/tensors.h"

namespace longspan::ops::delta_test {

enum class Decay { none, scalar, slot };
inline constexpr Decay kDecays[] = {Decay::none, Decay::scalar, Decay::slot};
inline constexpr const char* kBackends[] = {"kernel", "composed", "reference"};

struct Shape {
  int64_t batch = 1, heads = 2, rows = 40, slots = 5, width = 6;
  bool delta = true;
  Decay decay = Decay::scalar;
  bool state = false;
  double largest_beta = 1;
  bool repeated = false;  // one key for all rows of a head
};

inline std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << "B" << s.batch << " H" << s.heads << " N" << s.rows << " R" << s.slots << " D" << s.width << " delta "
             << s.delta << " decay " << static_cast<int>(s.decay) << " state " << s.state << " beta " << s.largest_beta
             << (s.repeated ? " repeated keys" : "");
}

inline at::Tensor uniform(at::IntArrayRef sizes) { return at::rand(sizes, at::TensorOptions().dtype(at::kDouble)); }
inline at::Tensor unit_rows(at::IntArrayRef sizes) {
  const at::Tensor x = randn(sizes);
  return x / x.square().sum(-1, /*keepdim=*/true).sqrt();
}
/// -log alpha up to 0.2, and 6.9 (alpha = .001) at 5 % of the numbers.
inline at::Tensor random_log_alpha(at::IntArrayRef sizes) {
  return at::where(uniform(sizes) < 0.05, -6.9, -0.2 * uniform(sizes));
}

struct Operands {
  Shape shape;
  at::Tensor q, k, v, beta, dout, dstate;
  std::optional<at::Tensor> log_alpha, state;

  explicit Operands(const Shape& s) : shape(s) {
    q = unit_rows({s.batch, s.heads, s.rows, s.slots});
    k = s.repeated ? unit_rows({s.batch, s.heads, 1, s.slots}).expand({-1, -1, s.rows, -1}) : unit_rows(q.sizes());
    v = randn({s.batch, s.heads, s.rows, s.width});
    beta = s.largest_beta * uniform({s.batch, s.heads, s.rows});
    if (s.decay == Decay::scalar) log_alpha = random_log_alpha(beta.sizes());
    if (s.decay == Decay::slot) log_alpha = random_log_alpha(q.sizes());
    dstate = randn({s.batch, s.heads, s.slots, s.width});
    if (s.state) state = randn(dstate.sizes());
    dout = randn(v.sizes());
  }
  /// Copies that record gradients: q, k, v and dout in `dtype`, everything else in that of the sums.
  Operands leaves(at::ScalarType dtype) const {
    const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    const auto leaf = [](const at::Tensor& t, at::ScalarType type) { return ops::leaves({t}, type)[0]; };
    Operands x = *this;
    for (at::Tensor* t : {&x.q, &x.k, &x.v}) *t = leaf(*t, dtype);
    x.dout = x.dout.to(dtype);
    x.beta = leaf(x.beta, wide);
    x.dstate = x.dstate.to(wide);
    if (x.log_alpha) x.log_alpha = leaf(*x.log_alpha, wide);
    if (x.state) x.state = leaf(*x.state, wide);
    return x;
  }
  std::vector<at::Tensor> inputs() const {
    std::vector<at::Tensor> all = {q, k, v, beta};
    if (log_alpha) all.push_back(*log_alpha);
    if (state) all.push_back(*state);
    return all;
  }
  std::tuple<at::Tensor, at::Tensor> run(const char* backend) const {
    return delta_memory(q, k, v, beta, log_alpha, state, {.delta = shape.delta, .backend = backend});
  }
  std::vector<at::Tensor> gradients(const at::Tensor& out, const at::Tensor& last) const {
    // A call without rows may not read an input.
    auto all = torch::autograd::grad({out, last}, inputs(), {dout, dstate}, std::nullopt, false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].defined()) all[i] = at::zeros_like(inputs()[i]);
    return all;
  }
  /// The rows of a batch row as a call of their own.
  Operands rows(int64_t begin, int64_t size) const {
    Operands x = *this;
    for (at::Tensor* t : {&x.q, &x.k, &x.v, &x.beta, &x.dout}) *t = t->narrow(2, begin, size);
    if (x.log_alpha) x.log_alpha = x.log_alpha->narrow(2, begin, size);
    return x;
  }
};

inline std::vector<double> numbers(const at::Tensor& t) {
  const at::Tensor flat = t.detach().to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

/// One batch row and head of the operands, whose numbers are those that the operator saw.
inline testing::DeltaCase case_of(const Operands& x, int64_t b, int64_t h) {
  const auto of = [&](const at::Tensor& t) { return numbers(t[b][h]); };
  testing::DeltaCase c;
  c.rows = x.shape.rows, c.slots = x.shape.slots, c.width = x.shape.width, c.delta = x.shape.delta;
  c.decay_width = x.shape.decay == Decay::none ? 0 : x.shape.decay == Decay::scalar ? 1 : x.shape.slots;
  c.q = of(x.q), c.k = of(x.k), c.v = of(x.v), c.beta = of(x.beta);
  if (x.log_alpha) c.log_alpha = of(*x.log_alpha);
  if (x.state) c.state = of(*x.state);
  return c;
}

/// How much larger than the kernel's (tests/kernels/delta_bounds.cc) the errors of the composed form may be, for keys
/// of norm 1 and u = 1/2 epsilon. A chunk's map is formed for every state: its writes are as large as for the largest
/// state and for no state together, P = 1 + sum of beta over the chunk times that. Joining two maps is a product whose
/// error is (R + 4) u sqrt(R) times the largest term, 2 s; over all levels there are less than 2 joins a chunk, forward
/// and back. Errors only go on by the exact recurrence, so that those of the chunks add up.
inline double composed_factor(const testing::DeltaCase& c, double kernel_state_bound, double u) {
  const testing::DeltaResult exact = testing::delta_reference(c);
  const double state = *std::max_element(exact.norms.begin(), exact.norms.end());
  double values = 0, beta = 0;
  for (const double x : c.v) values = std::max(values, std::abs(x));
  for (const double x : c.beta) beta = std::max(beta, std::abs(x));
  const double chunk = static_cast<double>(kernels::kDeltaChunk), slots = static_cast<double>(c.slots);
  const double added = 1 + chunk * beta, none = chunk * beta * values * std::sqrt(static_cast<double>(c.width));
  const double terms = slots + 7 * chunk + 8, chunks = static_cast<double>(c.rows / kernels::kDeltaChunk + 1);
  const double of_maps = terms * added * (state + none), of_joins = 4 * (slots + 4) * std::sqrt(slots) * 2 * state;
  return added * (1 + chunks * u * (of_maps + of_joins) / kernel_state_bound);
}

inline void expect_within(const at::Tensor& actual, const std::vector<double>& expected, double bound,
                          const char* what) {
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  if (actual.scalar_type() == at::kBFloat16) bound += 0x1p-8 * (largest + bound);
  const std::vector<double> a = numbers(actual);
  ASSERT_EQ(a.size(), expected.size()) << what;
  const auto result = testing::within(a.data(), expected.data(), static_cast<int64_t>(a.size()), bound);
  EXPECT_TRUE(result) << what << ": " << result.message;
}

/// Every form in `dtype`, forward and every gradient, against the recurrence.
inline void expect_equals_recurrence(const Operands& operands, at::ScalarType dtype) {
  for (const char* backend : kBackends) {
    const Operands x = operands.leaves(dtype);
    const auto [out, last] = x.run(backend);
    const auto gradients = x.gradients(out, last);
    EXPECT_EQ(out.scalar_type(), dtype);
    EXPECT_EQ(last.scalar_type(), x.beta.scalar_type());
    for (int64_t b = 0; b < x.shape.batch; ++b)
      for (int64_t h = 0; h < x.shape.heads; ++h) {
        SCOPED_TRACE(::testing::Message() << backend << " " << dtype << " " << x.shape << " b " << b << " h " << h);
        const testing::DeltaCase c = case_of(x, b, h);
        const std::vector<double> dout = numbers(x.dout[b][h]), dlast = numbers(x.dstate[b][h]);
        const testing::DeltaResult exact = testing::delta_reference(c);
        const testing::DeltaGradient g = testing::delta_reference_backward(c, dout, dlast);
        const bool wide = dtype == at::kDouble;
        const auto bounds = wide ? kernels::delta_test::error_bounds<double>(c, dout, dlast)
                                 : kernels::delta_test::error_bounds<float>(c, dout, dlast);
        const double forward =
            std::string(backend) == "composed" ? composed_factor(c, bounds.state, wide ? 0x1p-53 : 0x1p-24) : 1;
        // Backward the same maps, transposed, act on the gradients of states; each gradient's error is that of a state
        // times a gradient and that of a gradient times a state.
        const double backward = 2 * forward;
        expect_within(out[b][h], exact.out, forward * bounds.out, "out");
        expect_within(last[b][h], exact.state, forward * bounds.state, "state");
        expect_within(gradients[0][b][h], g.q, backward * bounds.dq, "dq");
        expect_within(gradients[1][b][h], g.k, backward * bounds.dk, "dk");
        expect_within(gradients[2][b][h], g.v, backward * bounds.dv, "dv");
        expect_within(gradients[3][b][h], g.beta, backward * bounds.dbeta, "dbeta");
        std::size_t next = 4;
        if (x.log_alpha)
          expect_within(gradients[next++][b][h], g.log_alpha, backward * bounds.dlog_alpha, "dlog_alpha");
        if (x.state) expect_within(gradients[next][b][h], g.state, backward * bounds.dstate, "dstate");
      }
  }
}

/// A fresh stream; `streams` are the batch or packed sequences.
inline DeltaMemoryState fresh(const Shape& s, int64_t streams, at::ScalarType dtype) {
  const auto options = at::TensorOptions().dtype(dtype == at::kDouble ? at::kDouble : at::kFloat);
  const int64_t chunk = kernels::kDeltaChunk;
  DeltaMemoryState state{
      at::zeros({streams, s.heads, s.slots, s.width}, options), at::zeros({streams, s.heads, chunk, s.slots}, options),
      at::zeros({streams, s.heads, chunk, s.width}, options), std::nullopt, at::zeros({streams}, at::kLong)};
  if (s.decay == Decay::scalar) state.log_alpha = at::zeros({streams, s.heads, chunk}, options);
  if (s.decay == Decay::slot) state.log_alpha = at::zeros({streams, s.heads, chunk, s.slots}, options);
  return state;
}

inline at::Tensor extend(const Operands& x, DeltaMemoryState& state, const char* backend = "kernel",
                         const std::optional<at::Tensor>& cu = std::nullopt) {
  at::Tensor out;
  std::tie(out, state) = delta_memory_extend(x.q, x.k, x.v, x.beta, x.log_alpha, state,
                                             {.delta = x.shape.delta, .cu_seqlens = cu, .backend = backend});
  return out;
}

/// The floating tensors of a state.
inline std::vector<at::Tensor> tensors_of(const DeltaMemoryState& s) {
  std::vector<at::Tensor> all = {s.memory, s.keys, s.writes};
  if (s.log_alpha) all.push_back(*s.log_alpha);
  return all;
}

}  // namespace longspan::ops::delta_test
