// Streams: delta_memory_extend.
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "tests/ops/delta_case.h"

namespace longspan::ops::delta_test {
namespace {

void expect_same_state(const DeltaMemoryState& a, const DeltaMemoryState& b) {
  const auto x = tensors_of(a), y = tensors_of(b);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(same_bits(x[i], y[i])) << "tensor " << i << " of the state";
  EXPECT_TRUE(a.position.equal(b.position));
}

// Any cutting gives the same bits as one call, and the same state.
TEST(DeltaMemoryExtend, CutsChangeNoBit) {
  at::manual_seed(51);
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16})
    for (const bool delta : {true, false})
      for (const Decay decay : kDecays) {
        SCOPED_TRACE(::testing::Message() << dtype << " delta " << delta << " decay " << static_cast<int>(decay));
        const Operands x = Operands({.batch = 2, .rows = 300, .delta = delta, .decay = decay}).leaves(dtype);
        const at::Tensor whole = std::get<0>(x.run("kernel"));
        DeltaMemoryState at_once = fresh(x.shape, 2, dtype);
        EXPECT_TRUE(same_bits(extend(x, at_once), whole));
        EXPECT_TRUE(at_once.position.equal(at::full({2}, 300, at::kLong)));
        for (const std::vector<int64_t>& cuts :
             {std::vector<int64_t>{1, 299}, {15, 1, 284}, {16, 256, 28}, {0, 100, 0, 156, 1, 43}, {31, 2, 17, 250}}) {
          DeltaMemoryState state = fresh(x.shape, 2, dtype);
          std::vector<at::Tensor> parts;
          int64_t begin = 0;
          for (const int64_t size : cuts) {
            parts.push_back(extend(x.rows(begin, size), state));
            begin += size;
          }
          EXPECT_TRUE(same_bits(at::cat(parts, 2), whole)) << "first cut " << cuts[0];
          expect_same_state(state, at_once);
        }
      }
}

// Streams of different ages, each with its own number of new rows, in a pack and each alone.
TEST(DeltaMemoryExtend, PackedStreamsAreTheirOwn) {
  at::manual_seed(52);
  for (const Decay decay : kDecays) {
    const std::vector<int64_t> ages = {0, 37, 15}, sizes = {3, 0, 50};
    std::vector<Operands> calls;
    std::vector<at::Tensor> expected;
    std::vector<DeltaMemoryState> states, after;
    for (int s = 0; s < 3; ++s) {
      DeltaMemoryState state = fresh({.decay = decay}, 1, at::kDouble);
      extend(Operands({.rows = ages[s], .decay = decay}), state);
      states.push_back(state);
      calls.emplace_back(Shape{.rows = sizes[s], .decay = decay});
      expected.push_back(extend(calls[s], state));
      after.push_back(state);
    }
    const auto joined = [](const std::vector<DeltaMemoryState>& list) {
      const auto of = [&](const auto& get) { return at::cat({get(list[0]), get(list[1]), get(list[2])}); };
      DeltaMemoryState all{of([](const auto& s) { return s.memory; }), of([](const auto& s) { return s.keys; }),
                           of([](const auto& s) { return s.writes; }), std::nullopt,
                           of([](const auto& s) { return s.position; })};
      if (list[0].log_alpha) all.log_alpha = of([](const auto& s) { return *s.log_alpha; });
      return all;
    };
    Operands pack = calls[0];
    pack.shape.rows = 53;
    for (at::Tensor Operands::*t : {&Operands::q, &Operands::k, &Operands::v, &Operands::beta})
      pack.*t = at::cat({calls[0].*t, calls[1].*t, calls[2].*t}, 2);
    if (pack.log_alpha) pack.log_alpha = at::cat({*calls[0].log_alpha, *calls[1].log_alpha, *calls[2].log_alpha}, 2);
    DeltaMemoryState packed = joined(states);
    const at::Tensor out = extend(pack, packed, "kernel", at::tensor({0, 3, 3, 53}, at::kLong));
    EXPECT_TRUE(same_bits(out, at::cat(expected, 2)));
    expect_same_state(packed, joined(after));
  }
}

// Differentiating through the cuts is differentiating the whole, but for roundings; in every form.
TEST(DeltaMemoryExtend, GradientsThroughCuts) {
  at::manual_seed(53);
  for (const char* backend : kBackends)
    for (const bool delta : {true, false})
      for (const Decay decay : kDecays) {
        SCOPED_TRACE(::testing::Message() << backend << " delta " << delta << " decay " << static_cast<int>(decay));
        const Operands operands({.batch = 1, .rows = 70, .delta = delta, .decay = decay, .largest_beta = 1.9});
        const Operands whole = operands.leaves(at::kDouble), cut = operands.leaves(at::kDouble);
        const at::Tensor out = std::get<0>(whole.run("kernel"));
        const auto expected = torch::autograd::grad({out}, whole.inputs(), {whole.dout});
        DeltaMemoryState state = fresh(whole.shape, 1, at::kDouble);
        std::vector<at::Tensor> parts;
        int64_t begin = 0;
        for (const int64_t size : {5, 20, 7, 38}) {
          parts.push_back(extend(cut.rows(begin, size), state, backend));
          begin += size;
        }
        const auto gradients = torch::autograd::grad({at::cat(parts, 2)}, cut.inputs(), {cut.dout});
        for (int64_t h = 0; h < whole.shape.heads; ++h) {
          const testing::DeltaCase c = case_of(whole, 0, h);
          const auto bounds = kernels::delta_test::error_bounds<double>(c, numbers(whole.dout[0][h]));
          // Each cut begins chunks of its own in the composed form: as many more of them.
          const double factor = 5 * composed_factor(c, bounds.state, 0x1p-53);
          const double of[] = {bounds.dq, bounds.dk, bounds.dv, bounds.dbeta, bounds.dlog_alpha};
          for (std::size_t i = 0; i < gradients.size(); ++i)
            expect_within(gradients[i][0][h], numbers(expected[i][0][h]), 2 * 2 * factor * of[i], "gradient");
        }
      }
}

// From states in which everything is arbitrary, also the rows that are not read: every form gives the same rows and
// states, and gradients of all of the state.
TEST(DeltaMemoryExtend, EveryFormGoesOnTheSame) {
  at::manual_seed(54);
  for (const bool delta : {true, false})
    for (const Decay decay : kDecays)
      for (const int64_t rows : {0, 3, 40}) {
        SCOPED_TRACE(::testing::Message() << "delta " << delta << " decay " << static_cast<int>(decay) << " N" << rows);
        const Shape shape{.batch = 3, .rows = rows, .delta = delta, .decay = decay};
        const Operands operands(shape);
        DeltaMemoryState before = fresh(shape, 3, at::kDouble);
        before.memory = randn(before.memory.sizes());
        before.keys = unit_rows(before.keys.sizes());
        before.writes = randn(before.writes.sizes());
        if (before.log_alpha) before.log_alpha = random_log_alpha(before.log_alpha->sizes());
        before.position = at::tensor({32, 45, 7}, at::kLong);
        std::vector<at::Tensor> weights;
        const auto run = [&](const char* backend) {
          const Operands x = operands.leaves(at::kDouble);
          DeltaMemoryState state = before;
          for (at::Tensor* t : {&state.memory, &state.keys, &state.writes}) *t = leaves({*t}, at::kDouble)[0];
          if (state.log_alpha) state.log_alpha = leaves({*state.log_alpha}, at::kDouble)[0];
          std::vector<at::Tensor> inputs = x.inputs();
          for (const at::Tensor& t : tensors_of(state)) inputs.push_back(t);
          std::vector<at::Tensor> results = {extend(x, state, backend)};
          for (const at::Tensor& t : tensors_of(state)) results.push_back(t);
          if (weights.empty())
            for (const at::Tensor& t : results) weights.push_back(randn(t.sizes()));
          EXPECT_TRUE(state.position.equal(before.position + rows));
          const auto gradients = torch::autograd::grad(results, inputs, weights, true, false, /*allow_unused=*/true);
          for (std::size_t i = 0; i < inputs.size(); ++i)
            results.push_back(gradients[i].defined() ? gradients[i] : at::zeros(inputs[i].sizes(), at::kDouble));
          return results;
        };
        // No more than 64 writes of a value and a state of magnitude 4, in 4 chunks; gradients sum as many such
        // products.
        const double bound = 64 * 64 * 16 * sum_bound(at::kDouble, 200);
        const auto expected = run("reference");
        for (const char* backend : {"kernel", "composed"}) {
          const auto actual = run(backend);
          for (std::size_t i = 0; i < actual.size(); ++i)
            EXPECT_TRUE(near(actual[i], expected[i], bound)) << backend << " result " << i;
        }
      }
}

// What stands in another stream, NaN too, reaches nothing of this one, in a batch and in a pack.
TEST(DeltaMemoryExtend, StreamsAreIsolated) {
  at::manual_seed(55);
  for (const char* backend : kBackends)
    for (const bool pack : {false, true}) {
      SCOPED_TRACE(::testing::Message() << backend << (pack ? " pack" : " batch"));
      const Operands clean({.batch = pack ? 1 : 2, .rows = pack ? 60 : 30, .decay = Decay::slot});
      const auto run = [&](bool poisoned) {
        Operands x = clean;
        DeltaMemoryState state = fresh(x.shape, 2, at::kDouble);
        state.position = at::tensor({5, 21}, at::kLong);
        const auto poison = [&](const at::Tensor& t, bool rows) {
          const at::Tensor copy = t.detach().clone();
          const at::Tensor other = rows && pack ? copy.narrow(2, 0, 30) : copy.narrow(0, 0, 1);
          if (poisoned) other.fill_(std::numeric_limits<double>::quiet_NaN());
          return copy;
        };
        for (at::Tensor* t : {&x.q, &x.k, &x.v, &x.beta, &x.dout}) *t = poison(*t, true);
        x.log_alpha = poison(*x.log_alpha, true);
        for (at::Tensor* t : {&state.memory, &state.keys, &state.writes}) *t = poison(*t, false).requires_grad_(true);
        state.log_alpha = poison(*state.log_alpha, false).requires_grad_(true);
        for (at::Tensor* t : {&x.q, &x.k, &x.v, &x.beta}) t->requires_grad_(true);
        const std::vector<at::Tensor> inputs = {x.q, x.k, x.v, x.beta, state.memory, state.keys, state.writes};
        std::optional<at::Tensor> cu;
        if (pack) cu = at::tensor({0, 30, 60}, at::kLong);
        std::vector<at::Tensor> results = {extend(x, state, backend, cu)};
        for (const at::Tensor& g : torch::autograd::grad({results[0]}, inputs, {x.dout}, true)) results.push_back(g);
        for (const at::Tensor& t : tensors_of(state)) results.push_back(t);
        for (std::size_t i = 0; i < results.size(); ++i)
          results[i] = pack && i < 5 ? results[i].narrow(2, 30, 30) : results[i].narrow(0, 1, 1);
        return results;
      };
      const auto expected = run(false), actual = run(true);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(expected[i].isfinite().all().item<bool>()) << i;
        EXPECT_TRUE(same_bits(actual[i], expected[i])) << "result " << i;
      }
    }
}

// The results do not alias the state, also when nothing is to be done.
TEST(DeltaMemoryExtend, ResultsAreNoInputs) {
  for (const char* backend : kBackends)
    for (const int64_t streams : {0, 2}) {
      const Operands x({.batch = streams, .rows = 0, .decay = Decay::slot});
      const DeltaMemoryState before = fresh(x.shape, streams, at::kDouble);
      DeltaMemoryState after = before;
      extend(x, after, backend);
      const auto a = tensors_of(before), b = tensors_of(after);
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].sizes(), b[i].sizes());
        EXPECT_FALSE(a[i].is_alias_of(b[i])) << backend << " tensor " << i;
      }
      EXPECT_FALSE(before.position.is_alias_of(after.position)) << backend;
    }
}

TEST(DeltaMemoryExtend, EveryFormRefusesNegativePositions) {
  const Operands x({.batch = 2, .rows = 3});
  for (const char* backend : kBackends) {
    DeltaMemoryState state = fresh(x.shape, 2, at::kDouble);
    state.position = at::tensor({5, -1}, at::kLong);
    EXPECT_EQ(value_error([&] { extend(x, state, backend); }),
              "delta_memory_extend: position: expected 0 or more, got -1 at index 1");
  }
}

}  // namespace
}  // namespace longspan::ops::delta_test
