// Grouped heads and rotary positions, which every method knows.
#include "support.h"

namespace longspan::nn {
namespace {

// Keys and values of one head for two query heads are those of two equal heads.
TEST(GroupedHeads, EqualRepeatedProjections) {
  const auto check = [](const std::string& name, Pattern pattern, const FieldValues& options) {
    SCOPED_TRACE(name);
    const auto grouped = make(name, pattern, options, {.width = 16, .heads = 2, .kv_heads = 1});
    const auto full = make(name, pattern, options, kSizes);
    {
      const at::NoGradGuard no_grad;
      const auto from = grouped->named_parameters();
      for (auto& item : full->named_parameters()) {
        const at::Tensor& value = from[item.key()];
        item.value().copy_(value.size(0) == item.value().size(0) ? value : at::cat({value, value}));
      }
    }
    const at::Tensor x = normal({2, 11, 16}, 1).requires_grad_();
    std::optional<at::Tensor> source;
    if (is_cross(pattern)) source = normal({2, 7, 16}, 2);
    const at::Tensor y = grouped->forward(x, {.source = source}), expected = full->forward(x, {.source = source});
    const double bound = layer_bound(*full, x, 11);
    EXPECT_TRUE(close(y, expected, bound));
    for (const bool keys : {true, false}) {
      const char* weight = keys ? "k.weight" : "v.weight";
      if (!grouped->named_parameters().contains(weight)) continue;
      grouped->zero_grad();
      full->zero_grad();
      grouped->forward(x, {.source = source}).square().sum().backward();
      full->forward(x, {.source = source}).square().sum().backward();
      const at::Tensor both = full->named_parameters()[weight].grad();
      // A gradient sums 22 rows of products of outputs and inputs below 5.
      EXPECT_TRUE(close(grouped->named_parameters()[weight].grad(), both.narrow(0, 0, 8) + both.narrow(0, 8, 8),
                        22 * 5 * bound * (1 + y.abs().max().item<double>())))
          << weight;
    }
    if (pattern == Pattern::noncausal_self) return;
    State state = is_cross(pattern) ? grouped->begin(*source) : grouped->begin(2);
    const at::Tensor pieces =
        at::cat({grouped->extend(state, x.narrow(1, 0, 4)), grouped->extend(state, x.narrow(1, 4, 7))}, 1);
    EXPECT_TRUE(close(pieces, y, bound));
  };
  for (const Pattern pattern : {Pattern::causal_self, Pattern::noncausal_self}) {
    check("softmax", pattern, {});
    check("local", pattern, {{"w", int64_t{3}}});
    for (const char* projection : {"value", "key", "own", "input_slice"})
      for (const char* history : {"shared", "block_causal"})
        check("lavo", pattern, small_lavo({{"memory_proj", projection}, {"history_attention", history}}));
    check("lavo", pattern, small_lavo({{"memory_input", "raw"}}));
  }
  check(
      "lavo", Pattern::causal_self,
      small_lavo(
          {{"memory_update", "window"}, {"history_attention", "block_bidirectional"}, {"memory_proj", "input_slice"}}));
  check("softmax", Pattern::causal_cross, {});
  for (const char* projection : {"value", "key", "own", "input_slice"})
    check("lavo", Pattern::causal_cross, {{"r", int64_t{4}}, {"memory_proj", projection}});
  expect_input_error([] { make("softmax", Pattern::causal_self, {}, {.width = 16, .heads = 4, .kv_heads = 3}); },
                     "softmax: kv_heads must be 0 or a divisor of heads, 4, got 3");
}

TEST(RotaryPositions, AreTheSameInEveryMethod) {
  const AttentionSizes rotary = {.width = 16, .heads = 2, .rotary_base = 100};
  const at::Tensor x = normal({2, 9, 16}, 1);
  for (const Pattern pattern : {Pattern::causal_self, Pattern::noncausal_self}) {
    const at::Tensor expected = make("softmax", pattern, {{"rope", true}, {"rope_base", 100.0}})->forward(x).detach();
    const auto softmax = make("softmax", pattern, {}, rotary);
    EXPECT_TRUE(softmax->forward(x).equal(expected));
    const auto local = make("local", pattern, {{"w", int64_t{9}}}, rotary);
    EXPECT_TRUE(close(local->forward(x), expected, layer_bound(*local, x, 9)));
    const auto lavo = make("lavo", pattern, {{"w", int64_t{9}}, {"epe", false}, {"combine", "local"}}, rotary);
    EXPECT_TRUE(close(lavo->forward(x), expected, layer_bound(*lavo, x, 9)));
  }
  // What the memory reads with knows no position.
  const FieldValues global = small_lavo({{"combine", "global"}, {"memory_input", "raw"}, {"memory_proj", "key"}});
  EXPECT_TRUE(make("lavo", Pattern::causal_self, global, rotary)
                  ->forward(x)
                  .equal(make("lavo", Pattern::causal_self, global, kSizes)->forward(x)));
  expect_input_error(
      [&] {
        make("softmax", Pattern::causal_self, {{"rope", true}}, rotary);
      },
      "softmax: rope must be false where the positions are rotary, got true");
  expect_input_error([&] { make("local", Pattern::causal_self, {}, {.width = 6, .heads = 2, .rotary_base = 100}); },
                     "local: rotary positions need an even head width, got 3");
  expect_input_error([&] { make("softmax", Pattern::causal_cross, {}, rotary); },
                     "softmax: rotary_base has no use in the pattern causal_cross, got 100");
}

TEST(RotaryPositions, GoOnInStreamsOfDifferentAge) {
  const AttentionSizes sizes = {.width = 16, .heads = 2, .kv_heads = 1, .rotary_base = 100};
  const std::vector<std::pair<std::string, FieldValues>> methods = {
      {"softmax", {}},
      {"local", {{"w", int64_t{4}}}},
      {"lavo", small_lavo({{"memory_proj", "key"}})},
      {"lavo", small_lavo({{"history_attention", "block_causal"}, {"memory_proj", "own"}})},
      {"lavo", small_lavo({{"history_attention", "block_bidirectional"}, {"memory_update", "window"}})}};
  for (const auto& [name, options] : methods) {
    SCOPED_TRACE(name);
    const auto module = make(name, Pattern::causal_self, options, sizes);
    const at::NoGradGuard no_grad;
    const at::Tensor x = normal({1, 14, 16}, 1), other = normal({1, 9, 16}, 2);
    State old = module->begin(1);
    const at::Tensor head = module->extend(old, x.narrow(1, 0, 5));
    State both = State::stack({old, module->begin(1)});
    const at::Tensor rest = module->extend(both, at::cat({x.narrow(1, 5, 9), other}));
    const double bound = layer_bound(*module, x, 14);
    EXPECT_TRUE(close(at::cat({head, rest.narrow(0, 0, 1)}, 1), module->forward(x), bound));
    EXPECT_TRUE(close(rest.narrow(0, 1, 1), module->forward(other), bound));
  }
}

}  // namespace
}  // namespace longspan::nn
