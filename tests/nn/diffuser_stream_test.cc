// Diffuser on streams: what it keeps, dropout, refusals. That pieces equal the whole is stream_test.cc's subject.
#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "longspan/nn/diffuser.h"
#include "support.h"

namespace longspan::nn {
namespace {

const FieldValues kWindowOfSix = {
    {"pattern", "window_overlap+global"}, {"w", number(6)}, {"g", number(2)}, {"max_len", number(20)}};

TEST(DiffuserStreams, AWindowKeepsAConstantState) {
  const auto module = make("diffuser", Pattern::causal_self, kWindowOfSix);
  const at::Tensor x = normal({2, 90, 16}, 1);
  const at::NoGradGuard no_grad;
  State state = module->begin(2);
  std::vector<at::Tensor> parts;
  for (int64_t t = 0; t < 90; ++t) {
    parts.push_back(module->extend(state, x.narrow(1, t, 1)));
    // keys and 5 states of 16 numbers; a stream counts 8 bytes. cost() is in float32.
    const double rows = (static_cast<double>(state.bytes()) / 2 - 8) / 8,
                 expected = (module->cost(t + 1, t + 1).state_bytes - 8) / 4;
    EXPECT_EQ(rows, expected) << "after " << t + 1;
    if (t >= 20) {
      EXPECT_LE(state.at("keys").size(2), 6 + 2);
    }
  }
  EXPECT_TRUE(close(at::cat(parts, 1), module->forward(x), layer_bound(*module, x, 90)));
  const State one = module->begin(1);
  EXPECT_EQ(one.bytes(), 8);
}

TEST(DiffuserStreams, RandomKeysNeedEverything) {
  const auto module = make("diffuser", Pattern::causal_self, {{"pattern", "random"}, {"r", number(1)}});
  EXPECT_EQ(module->cost(1000, 1000).state_bytes, 4.0 * 1000 * 16 * (1 + 5) + 8);
}

// Rows are added where there is room for them, and nobody who holds a state sees it.
TEST(DiffuserStreams, GrowWithoutTouchingCopies) {
  const auto module =
      make("diffuser", Pattern::causal_self, {{"pattern", "window_band+random"}, {"k", number(3)}, {"r", number(2)}});
  const at::Tensor x = normal({1, 120, 16}, 1), other = normal({1, 120, 16}, 2);
  const at::Tensor whole = module->forward(x).detach();
  const double bound = layer_bound(*module, x, 120);
  const at::NoGradGuard no_grad;
  State state = module->begin(1);
  int64_t moved = 0;
  const void* at = nullptr;
  for (int64_t t = 0; t < 100; ++t) {
    EXPECT_TRUE(close(module->extend(state, x.narrow(1, t, 1)), whole.narrow(1, t, 1), bound)) << t;
    moved += std::exchange(at, state.at("hops").const_data_ptr()) != state.at("hops").const_data_ptr();
  }
  EXPECT_LE(moved, 7) << "16 rows, then each time half as many more";

  const State copy = state, bits = state.clone();
  State first = copy, second = copy;
  for (int64_t t = 100; t < 110; ++t) {  // two branches by turns
    module->extend(first, other.narrow(1, t, 1));
    EXPECT_TRUE(close(module->extend(second, x.narrow(1, t, 1)), whole.narrow(1, t, 1), bound)) << t;
  }
  for (const auto& [name, tensor] : bits.tensors()) EXPECT_TRUE(copy.at(name).equal(tensor)) << name;
  State third = copy;
  EXPECT_TRUE(close(module->extend(third, x.narrow(1, 100, 20)), whole.narrow(1, 100, 20), bound));
  // Rows in another order are a state of their own.
  State swapped = State::stack({copy, copy}).select(at::tensor({1, 0}, at::kLong));
  EXPECT_TRUE(close(module->extend(swapped, at::cat({x, x}).narrow(1, 100, 3))[1], whole[0].narrow(0, 100, 3), bound));
  for (const auto& [name, tensor] : bits.tensors()) EXPECT_TRUE(copy.at(name).equal(tensor)) << name;
}

// With gradients every state is a value of the graph.
TEST(DiffuserStreams, RowsThatRecordAreCopied) {
  const auto module =
      make("diffuser", Pattern::causal_self, {{"pattern", "window_band+random"}, {"k", number(3)}, {"r", number(2)}});
  const at::Tensor x = normal({1, 30, 16}, 1).requires_grad_();
  const at::Tensor weight = normal({1, 30, 16}, 2);
  const at::Tensor wanted = torch::autograd::grad({(module->forward(x) * weight).sum()}, {x})[0];
  State state = module->begin(1);
  at::Tensor sum = at::zeros({}, float64());
  for (int64_t t = 0; t < 30; ++t) {
    sum = sum + (module->extend(state, x.narrow(1, t, 1)) * weight.narrow(1, t, 1)).sum();
    const at::NoGradGuard no_grad;
    State aside = state;  // read on without recording: must not disturb what was saved
    module->extend(aside, x.narrow(1, t, 1));
  }
  EXPECT_TRUE(close(torch::autograd::grad({sum}, {x})[0], wanted, 30 * layer_bound(*module, x.detach(), 30)));
}

// Masks depend on the seed, on hops and on positions: pieces that start from one seed drop what the whole drops.
TEST(DiffuserStreams, DropoutDoesNotDependOnTheCut) {
  const at::NoGradGuard no_grad;
  for (const FieldValues& pattern :
       {kWindowOfSix, FieldValues{{"pattern", "window_band+random"}, {"k", number(3)}, {"r", number(2)}}})
    for (const char* mode : {"once", "per_hop"}) {
      FieldValues options = pattern;
      options["attn_dropout"] = 0.3;
      options["hop_dropout"] = 0.2;
      options["dropout_mode"] = mode;
      const auto module = make("diffuser", Pattern::causal_self, options);
      const at::Tensor x = normal({2, 40, 16}, 1);
      const at::Tensor plain = module->forward(x);
      module->train();
      torch::manual_seed(9);
      const at::Tensor whole = module->forward(x);
      EXPECT_GT((whole - plain).abs().max().item<double>(), 1e-2);
      const double bound = 20 * layer_bound(*module, x, 40);  // what is kept is multiplied by up to 1 / (0.7 0.8)^5
      torch::manual_seed(9);
      const at::Tensor pack = module->forward(x.reshape({1, 80, 16}), {.cu_seqlens = at::tensor({0, 40, 80})});
      EXPECT_TRUE(close(pack.view({2, 40, 16}), whole, bound)) << "packed";
      State state = module->begin(2);
      std::vector<at::Tensor> parts;
      int64_t at = 0;
      for (const int64_t size : {1, 2, 5, 1, 20, 0, 11}) {
        torch::manual_seed(9);
        parts.push_back(module->extend(state, x.narrow(1, std::exchange(at, at + size), size)));
      }
      EXPECT_TRUE(close(at::cat(parts, 1), whole, bound)) << mode;

      // Streams of different ages: the second one is 7 rows behind.
      State uneven = module->begin(2);
      const at::Tensor valid = at::ones({2, 20}, at::kBool);
      valid.select(0, 1).narrow(0, 0, 7).fill_(false);
      torch::manual_seed(9);
      const at::Tensor first =
          module->extend(uneven, at::stack({x[0].narrow(0, 0, 20), x[1].narrow(0, 0, 20).roll(7, 0)}), valid);
      torch::manual_seed(9);
      const at::Tensor second = module->extend(uneven, at::stack({x[0].narrow(0, 20, 9), x[1].narrow(0, 13, 9)}));
      EXPECT_TRUE(close(first[0], whole[0].narrow(0, 0, 20), bound));
      EXPECT_TRUE(close(first[1].narrow(0, 7, 13), whole[1].narrow(0, 0, 13), bound));
      EXPECT_TRUE(close(second[0], whole[0].narrow(0, 20, 9), bound));
      EXPECT_TRUE(close(second[1], whole[1].narrow(0, 13, 9), bound));
    }
}

TEST(DiffuserStreams, RefuseByName) {
  const auto message = [](const FieldValues& options) -> std::string {
    try {
      make("diffuser", Pattern::causal_self, options)->begin(1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({{"pattern", "uniform"}}),
            "diffuser: the pattern uniform cannot be read as a stream: uniform spaces its keys over all tokens");
  EXPECT_EQ(message({{"random_mode", "total"}}),
            "diffuser: the pattern window_overlap+global+random cannot be read as a stream: random with "
            "random_mode=total draws its pairs from all of them");
  EXPECT_EQ(message({{"pattern", "bigbird"}}),
            "diffuser: the pattern bigbird cannot be read as a stream: bigbird's last block sees and is seen by all");
  EXPECT_EQ(message({{"pattern", "window_overlap"}, {"fit", "cut"}}),
            "diffuser: the pattern window_overlap cannot be read as a stream: fit=cut makes the pattern for max_len "
            "tokens");
  EXPECT_EQ(message({}), "");
}

TEST(DiffuserStreams, ChecksAForeignState) {
  const auto module = make("diffuser", Pattern::causal_self, kWindowOfSix);
  const at::Tensor x = normal({1, 5, 16}, 1);
  State state = module->begin(1);
  module->extend(state, x);
  State broken = state;
  broken.set("count", at::full({1}, 9, at::kLong));
  expect_input_error([&] { module->extend(broken, x); },
                     "diffuser: state of a stream of 9 tokens must hold 9 rows of keys, got 5");
  broken = state;
  broken.set("keys", state.at("keys").narrow(2, 0, 4));
  expect_input_error([&] { module->extend(broken, x); },
                     "diffuser: state must hold as many rows of hops as of keys, 4, got 5");
}

}  // namespace
}  // namespace longspan::nn
