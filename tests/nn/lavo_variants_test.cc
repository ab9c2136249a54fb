// LAVO in all its options: against the definition, and what single options promise.
#include "longspan/nn/lavo.h"
#include "support.h"

namespace longspan::nn {
namespace {

constexpr AttentionSizes kSizes = {.width = 16, .heads = 2};

/// Linear map `name` of rows, split into heads of 8: [B, N, 16] -> [B, heads, N, 8].
at::Tensor heads_of(const Attention& module, const std::string& name, const at::Tensor& x) {
  const auto weights = module.named_parameters();
  const at::Tensor rows = at::linear(x, weights[name + ".weight"], weights[name + ".bias"]);
  return rows.view({x.size(0), x.size(1), -1, 8}).transpose(1, 2);
}

/// Sum over u of weights[..., u] times the row at offset u - own; [B, H, N, W] and [B, H, N, D].
at::Tensor mix(const at::Tensor& weights, const at::Tensor& rows, int64_t own) {
  at::Tensor out = at::zeros_like(rows);
  const int64_t length = rows.size(2);
  for (int64_t t = 0; t < length; ++t)
    for (int64_t u = 0; u < weights.size(3); ++u)
      if (const int64_t from = t + u - own; from >= 0 && from < length)
        out.select(2, t).add_(weights.select(2, t).select(2, u).unsqueeze(-1) * rows.select(2, from));
  return out;
}

std::string option(const Attention& module, const std::string& name) {
  return longspan::to_string(module.options().at(name));
}

/// The layer from what inspect() shows: specification A.5, A.6.
at::Tensor by_definition(Attention& module, const at::Tensor& x, const std::optional<at::Tensor>& source, int64_t w) {
  const auto seen = module.inspect(x, source);
  at::Tensor local = at::zeros({x.size(0), 2, x.size(1), 8}, x.options()), global = local;
  const std::string combine = is_cross(module.pattern()) ? "global" : option(module, "combine");
  const bool local_only = module.pattern() == Pattern::causal_self && combine != "local" &&
                          option(module, "memory_update") == "window" && option(module, "empty_memory") == "local_only";
  if (combine != "global" || local_only) local = mix(seen.at("local_weights"), heads_of(module, "v", x), w - 1);
  if (combine != "local") global = at::matmul(seen.at("slots") * seen.at("reading"), seen.at("basis"));
  at::Tensor out = combine == "mean" ? (local + global) / 2 : combine == "local" ? local : global;
  const int64_t first = std::min(w, x.size(1));
  if (local_only) out.narrow(2, 0, first).copy_(local.narrow(2, 0, first));
  const auto weights = module.named_parameters();
  return at::linear(out.transpose(1, 2).reshape({x.size(0), x.size(1), 16}), weights["out.weight"],
                    weights["out.bias"]);
}

struct Case {
  Pattern pattern;
  FieldValues options;
  friend void PrintTo(const Case& c, std::ostream* out) {
    *out << to_string(c.pattern);
    for (const auto& [field, value] : c.options) *out << " " << field << "=" << longspan::to_string(value);
  }
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Pattern pattern : {Pattern::causal_self, Pattern::noncausal_self, Pattern::causal_cross})
    for (const auto& options : lavo_harness(pattern)) out.push_back({pattern, options});
  return out;
}

class Variants : public ::testing::TestWithParam<Case> {
 protected:
  AttentionPtr module() const {
    const AttentionPtr out = make("lavo", GetParam().pattern, GetParam().options, kSizes);
    const at::NoGradGuard no_grad;  // away from starts at 0 or 1
    torch::manual_seed(8);
    for (auto& parameter : out->named_parameters())
      if (parameter.key() != "basis") parameter.value().add_(at::randn_like(parameter.value()) * 0.1);
    return out;
  }
  int64_t window() const {
    const auto w = GetParam().options.find("w");
    return w == GetParam().options.end() ? LavoOptions().w : std::get<int64_t>(w->second);
  }
};
INSTANTIATE_TEST_SUITE_P(Nn, Variants, ::testing::ValuesIn(cases()));

TEST_P(Variants, EqualTheirDefinition) {
  const auto attention = module();
  const at::NoGradGuard no_grad;
  for (const int64_t length : {1, 2, 11, 19}) {
    const at::Tensor x = normal({2, length, 16}, 1);
    std::optional<at::Tensor> source;
    if (is_cross(GetParam().pattern)) source = normal({2, 7, 16}, 2);
    const at::Tensor y = attention->forward(x, {.source = source});
    EXPECT_TRUE(close(y, by_definition(*attention, x, source, window()), layer_bound(*attention, x, length)));
  }
}

TEST_P(Variants, StateIsAsLargeAsTheCostSays) {
  if (GetParam().pattern != Pattern::causal_self) return;
  const auto attention = module();
  attention->to(torch::kFloat);
  State state = attention->begin(1);
  EXPECT_EQ(static_cast<double>(state.bytes()), attention->cost(1000, 1000).state_bytes);
  attention->extend(state, normal({1, 21, 16}, 1).to(at::kFloat));
  EXPECT_EQ(static_cast<double>(state.bytes()), attention->cost(1000, 1000).state_bytes);
}

FieldValues with(FieldValues options) {
  options.insert({{"r", int64_t{4}}, {"w", int64_t{3}}});
  return options;
}

at::Tensor run(Attention& module, int64_t length = 11) {
  const at::NoGradGuard no_grad;
  return module.attend(normal({2, 2, length, 8}, 1), normal({2, 2, length, 8}, 2), normal({2, 2, length, 8}, 3));
}

TEST(LavoOptions, RefusesWhatAPatternCannotUse) {
  const auto refused = [](Pattern pattern, const FieldValues& options, const std::string& text) {
    expect_input_error([&] { make("lavo", pattern, options, kSizes); }, text);
  };
  refused(Pattern::noncausal_self, {{"memory_update", "window"}},
          "lavo: memory_update has no use in the pattern noncausal_self, got window");
  refused(Pattern::noncausal_self, {{"empty_memory", "zero"}},
          "lavo: empty_memory has no use in the pattern noncausal_self, got zero");
  refused(Pattern::causal_cross, {{"history_attention", "shared"}},
          "lavo: history_attention has no use in the pattern causal_cross, got shared");
  refused(Pattern::noncausal_cross, {{"dropout", 0.1}},
          "lavo: dropout has no use in the pattern noncausal_cross, got 0.1");
  refused(Pattern::causal_self, with({{"history_attention", "block_bidirectional"}}),
          "lavo: history_attention = block_bidirectional needs memory_update = window in the pattern causal_self, got "
          "token: tokens would see the rest of their window");
  refused(Pattern::causal_self, with({{"score_constant", 2.0}}),
          "lavo: score_constant has no use without score_scale = constant, got 2");
  refused(Pattern::causal_self, with({{"basis_penalty", 1.0}}),
          "lavo: basis_penalty has no use without basis_mode = soft, got 1");
  refused(Pattern::causal_self, {{"memory_proj", "values"}},
          "lavo: memory_proj must be one of value, key, own, input_slice, got values");
  expect_input_error(
      [] {
        make("lavo", Pattern::causal_cross, {{"r", int64_t{4}}, {"memory_proj", "input_slice"}},
             {.width = 16, .heads = 2, .source_width = 12});
      },
      "lavo: memory_proj = input_slice needs a source as wide as the model, 16, got 12");
}

// The projections that nothing reads do not exist.
TEST(LavoOptions, DecideWhichProjectionsThereAre) {
  const auto names = [](Pattern pattern, const FieldValues& options) {
    std::string out;
    const auto module = make("lavo", pattern, options, kSizes);
    for (const auto& item : module->named_parameters())
      if (item.key().ends_with(".weight")) out += item.key().substr(0, item.key().size() - 7) + " ";
    return out;
  };
  const auto self = [&](const FieldValues& options) { return names(Pattern::causal_self, with(options)); };
  EXPECT_EQ(self({}), "q k v out ");
  EXPECT_EQ(self({{"memory_proj", "key"}}), "q k v out ");
  EXPECT_EQ(self({{"memory_proj", "own"}}), "q k v memory out ");
  EXPECT_EQ(self({{"memory_proj", "input_slice"}}), "q k v out ");
  EXPECT_EQ(self({{"combine", "global"}}), "q k v out ") << "aggregated by local attention";
  EXPECT_EQ(self({{"combine", "global"}, {"memory_input", "raw"}}), "q v out ");
  EXPECT_EQ(self({{"combine", "global"}, {"memory_input", "raw"}, {"memory_proj", "own"}}), "q memory out ");
  EXPECT_EQ(self({{"combine", "local"}, {"memory_proj", "own"}}), "q k v out ");
  const auto cross = [&](const char* projection) {
    return names(Pattern::causal_cross, {{"r", int64_t{4}}, {"memory_proj", projection}});
  };
  EXPECT_EQ(cross("value"), "q v out ");
  EXPECT_EQ(cross("key"), "q k out ");
  EXPECT_EQ(cross("own"), "q memory out ");
  EXPECT_EQ(cross("input_slice"), "q out ");
}

// With w = 1 a window is a token: what t reads is what t - 1 reads with memory_update = token.
TEST(LavoOptions, AWindowOfOneIsATokenLate) {
  FieldValues options = {{"r", int64_t{4}}, {"w", int64_t{1}}, {"combine", "global"}, {"memory_input", "raw"}};
  const auto token = make("lavo", Pattern::causal_self, options, kSizes);
  options["memory_update"] = std::string("window");
  const auto window = make("lavo", Pattern::causal_self, options, kSizes);
  const at::NoGradGuard no_grad;
  const at::Tensor q = normal({2, 2, 9, 8}, 1), v = normal({2, 2, 9, 8}, 3);
  const at::Tensor late = window->attend(q, v, v);
  EXPECT_TRUE(late.select(2, 0).eq(0).all().item<bool>()) << "nothing yet";
  // Own kernels on both sides: sums are the same, scores and mixes of 8 and 4 terms below 5^3 may be cut otherwise.
  EXPECT_TRUE(close(late.narrow(2, 1, 8), token->attend(q.narrow(2, 1, 8), v.narrow(2, 0, 8), v.narrow(2, 0, 8)),
                    125 * testing::sum_bound<double>(16)));
}

TEST(LavoOptions, AnEmptyMemoryIsZeroOrLeftOut) {
  const auto local = make("lavo", Pattern::causal_self, with({{"combine", "local"}}), kSizes);
  const auto empty = [&](const char* way, const char* combine) {
    return make("lavo", Pattern::causal_self,
                with({{"memory_update", "window"}, {"empty_memory", way}, {"combine", combine}}), kSizes);
  };
  const at::Tensor first = run(*local).narrow(2, 0, 3);
  EXPECT_TRUE(run(*empty("zero", "mean")).narrow(2, 0, 3).equal(first / 2));
  EXPECT_TRUE(run(*empty("local_only", "mean")).narrow(2, 0, 3).equal(first));
  EXPECT_TRUE(run(*empty("local_only", "global")).narrow(2, 0, 3).equal(first));
  EXPECT_TRUE(run(*empty("local_only", "mean")).narrow(2, 3, 8).equal(run(*empty("zero", "mean")).narrow(2, 3, 8)));
}

TEST(LavoOptions, ScoreScalesAreFactorsOfTheScores) {
  const auto scaled = [](const FieldValues& options) {
    return make("lavo", Pattern::causal_self, with(options), kSizes);
  };
  const double root = 1 / std::sqrt(8.0);
  const at::Tensor expected = run(*scaled({{"score_scale", "inv_sqrt_d"}}));
  EXPECT_TRUE(run(*scaled({{"score_scale", "constant"}, {"score_constant", root}})).equal(expected));
  const auto learned = scaled({{"score_scale", "learned"}});
  EXPECT_TRUE(run(*learned).equal(run(*scaled({})))) << "starts at 1";
  at::Tensor log_scale = learned->named_parameters()["log_scale"];
  {
    const at::NoGradGuard no_grad;
    log_scale.fill_(std::log(root));
  }
  // Queries below 5 times a factor that errs by some roundoffs.
  EXPECT_TRUE(close(run(*learned), expected, 5 * 25 * testing::sum_bound<double>(16)));
  learned->attend(normal({2, 2, 9, 8}, 1), normal({2, 2, 9, 8}, 2), normal({2, 2, 9, 8}, 3)).square().sum().backward();
  EXPECT_TRUE(log_scale.grad().ne(0).all().item<bool>());
}

TEST(LavoOptions, DropoutIsDrawnInTrainingAlone) {
  const FieldValues options = with({{"dropout", 0.5}, {"slot_dropout", 0.4}});
  const auto dropped = make("lavo", Pattern::causal_self, options, kSizes);
  const auto plain = make("lavo", Pattern::causal_self, with({}), kSizes);
  const at::Tensor expected = run(*plain);
  EXPECT_TRUE(run(*dropped).equal(expected));
  dropped->train();
  const auto seeded = [&](uint64_t seed) {
    const at::NoGradGuard no_grad;
    const at::Tensor q = normal({2, 2, 11, 8}, 1), k = normal({2, 2, 11, 8}, 2), v = normal({2, 2, 11, 8}, 3);
    torch::manual_seed(seed);
    return dropped->attend(q, k, v);
  };
  EXPECT_TRUE(seeded(1).equal(seeded(1)));
  EXPECT_FALSE(seeded(1).equal(seeded(2)));
  EXPECT_FALSE(seeded(1).equal(expected));

  // One key with weight 1: it is dropped, or doubled.
  const auto single = make("lavo", Pattern::causal_self,
                           {{"r", int64_t{4}}, {"w", int64_t{1}}, {"combine", "local"}, {"dropout", 0.5}}, kSizes);
  single->train();
  const at::Tensor v = normal({2, 2, 200, 8}, 3);
  const at::Tensor factor = single->attend(v, v, v).detach() / v;
  EXPECT_TRUE(factor.eq(0).logical_or(factor.eq(2)).all().item<bool>());
  // 800 fair draws: a mean outside 1 +- 0.25 is seven deviations away.
  EXPECT_NEAR(factor.mean().item<double>(), 1, 0.25);
}

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
        check("lavo", pattern, with({{"memory_proj", projection}, {"history_attention", history}}));
    check("lavo", pattern, with({{"memory_input", "raw"}}));
  }
  check(
      "lavo", Pattern::causal_self,
      with(
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
  const FieldValues global = with({{"combine", "global"}, {"memory_input", "raw"}, {"memory_proj", "key"}});
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
      {"lavo", with({{"memory_proj", "key"}})},
      {"lavo", with({{"history_attention", "block_causal"}, {"memory_proj", "own"}})},
      {"lavo", with({{"history_attention", "block_bidirectional"}, {"memory_update", "window"}})}};
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

// Weights, inputs and the output are rounded to bfloat16; features, memory and F are not.
TEST(LavoBfloat16, StaysCloseToFloat64) {
  for (const FieldValues& options :
       {with({}), with({{"memory_proj", "own"}}), with({{"memory_input", "raw"}, {"score_scale", "learned"}}),
        with({{"memory_update", "window"}, {"history_attention", "block_bidirectional"}})}) {
    const auto narrow = make("lavo", Pattern::causal_self, options, kSizes);
    narrow->to(torch::kBFloat16);
    const auto wide = make("lavo", Pattern::causal_self, options, kSizes);
    {
      const at::NoGradGuard no_grad;
      const auto from = narrow->named_parameters();
      for (auto& item : wide->named_parameters()) item.value().copy_(from[item.key()]);
    }
    const at::NoGradGuard no_grad;
    const at::Tensor x = normal({2, 40, 16}, 1).to(at::kBFloat16);
    const at::Tensor y = narrow->forward(x), expected = wide->forward(x.to(at::kDouble));
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    // q, k, v, F and y are rounded once each: a relative 2^-9 of the largest value at every place, through scores of
    // 8 terms (a softmax moves by twice the score's error) and an output of 16.
    const double u = std::ldexp(1.0, -9), size = x.abs().max().item<double>();
    const double q = size * growth(*wide, "q"), k = size * growth(*wide, "k");
    const double v = size * std::max(growth(*wide, "v"), growth(*wide, "memory"));
    const double most = v * growth(*wide, "out");
    EXPECT_TRUE(close(y, expected, u * most * (3 + 2 * 2 * q * k / std::sqrt(8.0) + 2 * 2 * q * v)));
    State state = narrow->begin(2);
    const at::Tensor pieces =
        at::cat({narrow->extend(state, x.narrow(1, 0, 17)), narrow->extend(state, x.narrow(1, 17, 23))}, 1);
    EXPECT_TRUE(close(pieces, y, u * most * (3 + 2 * 2 * q * k / std::sqrt(8.0) + 2 * 2 * q * v)));
    EXPECT_EQ(state.at("closed").scalar_type(), at::kDouble);
    EXPECT_EQ(state.at("keys").scalar_type(), at::kBFloat16);
  }
}

}  // namespace
}  // namespace longspan::nn
