#include "longspan/ops/delta_memory/delta_memory.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "longspan/ops/backend_log.h"
#include "longspan/ops/delta_memory/dispatch.h"
#include "tests/ops/counting_allocator.h"
#include "tests/ops/delta_case.h"

namespace longspan::ops::delta_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const bool delta : {true, false})
    for (const Decay decay : kDecays) {
      for (const int64_t rows : {1, 15, 16, 17, 40})
        all.push_back({.rows = rows, .slots = rows % 2 == 0 ? 8 : 3, .delta = delta, .decay = decay});
      all.push_back({.batch = 2, .rows = 70, .width = 3, .delta = delta, .decay = decay, .state = true});
      all.push_back({.heads = 1, .rows = 300, .slots = 16, .width = 20, .delta = delta, .decay = decay, .state = true});
    }
  // Without decay and with one key, every write turns the state's row over: the hardest for the substitution.
  for (const Decay decay : kDecays) {
    all.push_back({.rows = 100, .decay = decay, .largest_beta = 1.999});
    all.push_back({.rows = 100, .decay = decay, .largest_beta = 1.999, .repeated = true});
  }
  all.push_back({.rows = 20, .slots = 1, .width = 1, .decay = Decay::slot, .state = true});
  return all;
}

class DeltaMemoryTest : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override { at::manual_seed(41); }
};
TEST_P(DeltaMemoryTest, EveryFormEqualsTheRecurrence) {
  const Operands x(GetParam());
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) expect_equals_recurrence(x, dtype);
}
INSTANTIATE_TEST_SUITE_P(Shapes, DeltaMemoryTest, ::testing::ValuesIn(shapes()));

// -infinity forgets everything, in every form to the last bit, and no gradient becomes NaN of it.
TEST(DeltaMemory, MinusInfinityForgetsEverything) {
  at::manual_seed(42);
  for (const bool delta : {true, false})
    for (const Decay decay : {Decay::scalar, Decay::slot})
      for (const char* backend : kBackends) {
        SCOPED_TRACE(::testing::Message() << backend << " delta " << delta << " slot " << (decay == Decay::slot));
        Operands all({.rows = 50, .delta = delta, .decay = decay, .state = true});
        for (const int64_t t : {3, 19, 20, 32}) all.log_alpha->select(2, t).fill_(-kInfinity);
        const Operands x = all.leaves(at::kDouble);
        const auto [out, last] = x.run(backend);
        const auto gradients = x.gradients(out, last);
        for (const auto& g : gradients) EXPECT_TRUE(g.isfinite().all().item<bool>());
        // What stands before has no influence on what follows.
        Operands other = all;
        other.state = -*all.state;
        other.v = all.v.clone();
        other.v.narrow(2, 0, 32).fill_(7);
        const auto [out_other, last_other] = other.run(backend);
        EXPECT_TRUE(same_bits(out.narrow(2, 32, 18), out_other.narrow(2, 32, 18)));
        EXPECT_TRUE(same_bits(last, last_other));
        EXPECT_EQ(max_abs(gradients[4].select(2, 32)), 0);  // log alpha has no gradient where alpha is 0
      }
}

// Strides of 0 are read in place, other layouts as they come: the bits are those of contiguous operands.
TEST(DeltaMemory, LayoutsChangeNoBit) {
  at::manual_seed(43);
  for (const Decay decay : kDecays) {
    const Operands one({.batch = 1, .heads = 1, .rows = 37, .decay = decay, .state = true});
    Operands shared = one, whole = one;
    shared.shape.batch = whole.shape.batch = 2;
    shared.shape.heads = whole.shape.heads = 3;
    const auto expand = [](at::Tensor& t) {
      std::vector<int64_t> sizes = t.sizes().vec();
      sizes[0] = 2, sizes[1] = 3;
      t = t.expand(sizes);
    };
    for (at::Tensor* t : {&shared.q, &shared.k, &shared.v, &shared.beta}) expand(*t);
    if (shared.log_alpha) expand(*shared.log_alpha);
    expand(*shared.state);
    const auto each = [](Operands& x, const auto& f) {
      for (at::Tensor* t : {&x.q, &x.k, &x.v, &x.beta}) *t = f(*t);
      if (x.log_alpha) x.log_alpha = f(*x.log_alpha);
    };
    whole = shared;
    each(whole, [](const at::Tensor& t) { return t.contiguous(); });
    Operands swapped = whole, strided = whole;
    each(swapped, [](const at::Tensor& t) { return t.transpose(1, 2).contiguous().transpose(1, 2); });
    each(strided, [](const at::Tensor& t) { return at::stack({t, t}, -1).select(-1, 0); });
    const auto [out, last] = whole.run("kernel");
    for (const Operands* x : {&shared, &swapped, &strided}) {
      const auto [other, other_last] = x->run("kernel");
      EXPECT_TRUE(same_bits(other, out));
      EXPECT_TRUE(same_bits(other_last, last));
    }
    const auto [joined, ignored] = swapped.run("kernel");
    EXPECT_TRUE(joined.transpose(1, 2).is_contiguous());  // heads can be joined without a copy
  }
}

// Neither threads nor length, batch-mates and packing change a bit, forward and backward.
TEST(DeltaMemory, NothingAroundASequenceChangesABit) {
  at::manual_seed(44);
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16})
    for (const bool delta : {true, false})
      for (const Decay decay : kDecays) {
        SCOPED_TRACE(::testing::Message() << dtype << " delta " << delta << " decay " << static_cast<int>(decay));
        const Operands all({.batch = 3, .rows = 300, .delta = delta, .decay = decay, .state = true});
        const auto run = [&](const Operands& operands) {
          const Operands x = operands.leaves(dtype);
          const auto [out, last] = x.run("kernel");
          std::vector<at::Tensor> results = {out, last};
          for (const at::Tensor& g : x.gradients(out, last)) results.push_back(g);
          return results;
        };
        const auto together = run(all);
        const int threads = at::get_num_threads();
        at::set_num_threads(threads == 1 ? 2 : 1);
        const auto other_threads = run(all);
        at::set_num_threads(threads);
        for (std::size_t i = 0; i < together.size(); ++i) EXPECT_TRUE(same_bits(other_threads[i], together[i])) << i;
        // The second batch row alone.
        Operands alone = all;
        for (at::Tensor* t : {&alone.q, &alone.k, &alone.v, &alone.beta, &alone.dout, &alone.dstate})
          *t = t->narrow(0, 1, 1);
        if (alone.log_alpha) alone.log_alpha = alone.log_alpha->narrow(0, 1, 1);
        alone.state = alone.state->narrow(0, 1, 1);
        const auto single = run(alone);
        for (std::size_t i = 0; i < single.size(); ++i)
          EXPECT_TRUE(same_bits(single[i], together[i].narrow(0, 1, 1))) << i;
        // Its beginning.
        EXPECT_TRUE(same_bits(run(alone.rows(0, 123))[0], single[0].narrow(2, 0, 123)));
        // In a pack, between the others and an empty sequence that keeps its state.
        Operands pack = all;
        const auto joined = [](const at::Tensor& t) {
          return at::cat({t.narrow(0, 0, 1), t.narrow(0, 1, 1), t.narrow(0, 2, 1)}, 2);
        };
        for (at::Tensor* t : {&pack.q, &pack.k, &pack.v, &pack.beta}) *t = joined(*t);
        if (pack.log_alpha) pack.log_alpha = joined(*pack.log_alpha);
        pack.state = at::cat({pack.state->narrow(0, 0, 2), pack.state->narrow(0, 0, 1), pack.state->narrow(0, 2, 1)});
        const Operands x = pack.leaves(dtype);
        const auto [out, last] =
            delta_memory(x.q, x.k, x.v, x.beta, x.log_alpha, x.state,
                         {.delta = delta, .cu_seqlens = at::tensor({0, 300, 600, 600, 900}, at::kInt)});
        EXPECT_TRUE(same_bits(out.narrow(2, 300, 300), single[0]));
        EXPECT_TRUE(same_bits(last.narrow(0, 1, 1), single[1]));
        EXPECT_TRUE(same_bits(last.narrow(0, 2, 1), x.state->narrow(0, 2, 1)));
        const at::Tensor dstate = at::cat({all.dstate.narrow(0, 0, 2), all.dstate.narrow(0, 1, 2)});
        const auto gradients =
            torch::autograd::grad({out, last}, x.inputs(), {joined(all.dout).to(dtype), dstate.to(last.scalar_type())});
        for (std::size_t i = 0; i + 1 < gradients.size(); ++i)
          EXPECT_TRUE(same_bits(gradients[i].narrow(2, 300, 300), single[i + 2])) << "gradient " << i;
        EXPECT_TRUE(same_bits(gradients.back().narrow(0, 1, 1), single.back()));
      }
}

// What stands in another sequence of a pack, NaN too, reaches neither results nor gradients.
TEST(DeltaMemory, PackedSequencesAreIsolated) {
  at::manual_seed(45);
  const at::Tensor cu = at::tensor({0, 11, 11, 45, 60}, at::kLong);
  for (const char* backend : kBackends)
    for (const bool delta : {true, false})
      for (const Decay decay : kDecays) {
        SCOPED_TRACE(::testing::Message() << backend << " delta " << delta << " decay " << static_cast<int>(decay));
        const Operands clean({.rows = 60, .delta = delta, .decay = decay});
        const auto run = [&](bool poisoned) {
          Operands x = clean.leaves(at::kFloat);
          for (at::Tensor* t : {&x.q, &x.k, &x.v, &x.beta, &x.dout}) {
            *t = t->detach().clone();
            if (!poisoned) continue;
            t->narrow(2, 0, 11).fill_(std::numeric_limits<double>::quiet_NaN());
            t->narrow(2, 45, 15).fill_(kInfinity);
          }
          for (at::Tensor* t : {&x.q, &x.k, &x.v, &x.beta}) t->requires_grad_(true);
          const auto [out, last] = delta_memory(x.q, x.k, x.v, x.beta, x.log_alpha, std::nullopt,
                                                {.delta = delta, .cu_seqlens = cu, .backend = backend});
          std::vector<at::Tensor> results = torch::autograd::grad({out}, {x.q, x.k, x.v, x.beta}, {x.dout});
          results.push_back(out);
          for (at::Tensor& t : results) t = t.narrow(2, 11, 34);
          results.push_back(last.narrow(0, 2, 1));
          return results;
        };
        const auto expected = run(false), actual = run(true);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(expected[i].isfinite().all().item<bool>()) << i;
          EXPECT_TRUE(same_bits(actual[i], expected[i])) << i;
        }
      }
}

// No rows, no heads, no batch rows, no sequences: results of the right sizes that are no input, and gradients.
TEST(DeltaMemory, NothingToDo) {
  at::manual_seed(46);
  for (const char* backend : kBackends)
    for (const auto& [batch, heads, rows] :
         {std::tuple<int64_t, int64_t, int64_t>{2, 2, 0}, {0, 2, 5}, {2, 0, 5}, {0, 0, 0}}) {
      SCOPED_TRACE(::testing::Message() << backend << " B" << batch << " H" << heads << " N" << rows);
      Operands all({.batch = batch, .heads = heads, .rows = rows, .decay = Decay::slot});
      all.state = randn(all.dstate.sizes());
      const Operands x = all.leaves(at::kDouble);
      const auto [out, last] = x.run(backend);
      EXPECT_EQ(out.sizes(), x.v.sizes());
      EXPECT_FALSE(last.is_alias_of(*x.state));
      if (rows == 0) {
        EXPECT_TRUE(same_bits(last, *x.state));
      }
      const auto gradients = x.gradients(out, last);
      for (std::size_t i = 0; i < gradients.size(); ++i) EXPECT_EQ(gradients[i].sizes(), x.inputs()[i].sizes());
      if (rows == 0) {
        EXPECT_TRUE(same_bits(gradients.back(), x.dstate));
      }
    }
  for (const char* backend : kBackends) {
    const Operands x({.batch = 1, .rows = 0});
    const auto [out, last] = delta_memory(x.q, x.k, x.v, x.beta, x.log_alpha, std::nullopt,
                                          {.cu_seqlens = at::tensor({0}, at::kLong), .backend = backend});
    EXPECT_EQ(out.sizes(), x.v.sizes());
    EXPECT_EQ(last.sizes(), (std::vector<int64_t>{0, 2, 5, 6}));
  }
}

// The kernel's own memory is the matter of kernels/memory_cap_test.cc; the operator adds no copy of an operand, and
// what it keeps for the gradient is a 256th of rows times slots times width.
TEST(DeltaMemory, AllocatesItsResultsOnly) {
  const int64_t rows = 4096, slots = 64, width = 64, heads = 2;
  const auto bfloat16 = at::TensorOptions().dtype(at::kBFloat16);
  const at::Tensor q = at::zeros({1, heads, rows, slots}, bfloat16), v = at::zeros({1, heads, rows, width}, bfloat16);
  const at::Tensor numbers = at::zeros({1, heads, rows}, at::kFloat);
  const int64_t out = static_cast<int64_t>(v.nbytes()), state = heads * slots * width * int64_t{sizeof(float)};
  const int64_t segments = (rows / 256 + 1) * state;
  const CountingAllocator counter;
  const delta::Outputs kept = delta::call_forward({q, q, v, numbers, numbers}, std::nullopt, {}, /*keep=*/true);
  EXPECT_GE(counter.bytes, out + state + segments);
  EXPECT_LE(counter.bytes, out + state + segments + 4096);
  const int64_t forward = counter.bytes;
  delta::call_backward({v, std::nullopt}, {q, q, v, numbers, numbers}, std::nullopt, kept.segments, {});
  const int64_t gradients = 3 * out + 2 * static_cast<int64_t>(numbers.nbytes());
  EXPECT_GE(counter.bytes - forward, gradients);
  EXPECT_LE(counter.bytes - forward, gradients + 4096);
}

// The backward pass gives the same bits from kept segments as from none.
TEST(DeltaMemory, SegmentsChangeNoBit) {
  at::manual_seed(47);
  const Operands x({.batch = 2, .rows = 600});
  const delta::Inputs inputs{x.q, x.k, x.v, x.beta, x.log_alpha};
  const delta::Outputs kept = delta::call_forward(inputs, std::nullopt, {}, true);
  EXPECT_EQ(delta::call_forward(inputs, std::nullopt, {}, false).segments.numel(), 0);
  const delta::OutputGradients given{x.dout, x.dstate};
  const delta::Gradients a = delta::call_backward(given, inputs, std::nullopt, kept.segments, {});
  const delta::Gradients b = delta::call_backward(given, inputs, std::nullopt, std::nullopt, {});
  for (const auto& [one, other] : {std::pair{a.inputs.q, b.inputs.q},
                                   {a.inputs.k, b.inputs.k},
                                   {a.inputs.v, b.inputs.v},
                                   {a.inputs.beta, b.inputs.beta},
                                   {*a.inputs.log_alpha, *b.inputs.log_alpha}})
    EXPECT_TRUE(same_bits(one, other));
  // Those of another call are refused.
  EXPECT_EQ(value_error([&] { delta::call_backward(given, inputs, std::nullopt, kept.segments.slice(0, 1), {}); }),
            "delta_memory: segments: expected [12, R = 5, D = 6], got [11, 5, 6]");
}

TEST(DeltaMemory, SizesBeyondTheKernelAreComposed) {
  std::vector<std::string> lines;
  set_backend_log([&](std::string_view op, std::string_view backend, std::string_view reason) {
    lines.push_back(std::string(op) + ": " + std::string(backend) + ": " + std::string(reason));
  });
  const auto call = [](int64_t slots, int64_t width, const char* backend) {
    const Operands x({.rows = 2, .slots = slots, .width = width, .decay = Decay::none});
    x.run(backend);
  };
  call(256, 4, "auto");
  call(257, 4, "auto");
  call(4, 300, "auto");
  EXPECT_EQ(value_error([&] { call(257, 4, "kernel"); }),
            "delta_memory: backend: expected composed, reference or auto, got kernel, which does not take R = 257, "
            "D = 4, above 256");
  set_backend_log({});
  EXPECT_EQ(lines,
            (std::vector<std::string>{"delta_memory: kernel: there is a kernel for float64 on cpu",
                                      "delta_memory: composed: there is no kernel for R = 257, D = 4, above 256",
                                      "delta_memory: composed: there is no kernel for R = 4, D = 300, above 256"}));
}

TEST(DeltaMemory, ErrorsAreValueErrorsWithOneLine) {
  const Operands x({.batch = 1, .rows = 3});
  EXPECT_EQ(value_error([&] {
              delta_memory(x.q, x.k, x.v, x.beta, at::zeros({1, 2, 3, 4}, at::kDouble));
            }),
            "delta_memory: log_alpha: expected [B = 1, H = 2, N = 3, R = 5], got [1, 2, 3, 4]");
}

}  // namespace
}  // namespace longspan::ops::delta_test
