#include "longspan/nn/lavo.h"

#include "support.h"

namespace longspan::nn {
namespace {

constexpr AttentionSizes kGoldenSizes = {.width = 2, .heads = 1};

at::Tensor head(const at::Tensor& rows) { return rows.unsqueeze(0).unsqueeze(0); }

void set(Attention& module, const std::string& name, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  module.named_parameters()[name].copy_(value);
}

at::Tensor basis_of(const Attention& module) { return module.named_parameters()["basis"].detach(); }

/// q, k, v [2, 2, n, 8].
std::vector<at::Tensor> operands(int64_t n) {
  return {normal({2, 2, n, 8}, 1), normal({2, 2, n, 8}, 2), normal({2, 2, n, 8}, 3)};
}

// Operands are O(1) normal numbers below 5; scores are below 5 * 5 * 8, sums at most 16 long.
constexpr double kBound = 200 * 16 * 64 * 1.2e-16;

TEST(Lavo, GivesTheGoldenValues) {
  const at::Tensor q = head(waves(6, 2, 0.7, 1.3, 0.5)), k = head(waves(6, 2, 0.3, -0.8, 0.2)),
                   v = head(waves(6, 2, 1.1, 0.6, -0.4));
  const auto check = [&](Pattern pattern, FieldValues options, std::initializer_list<double> golden) {
    options.insert({"w", int64_t{3}});
    if (!options.contains("combine")) options.insert({"r", int64_t{2}});
    const auto module = make("lavo", pattern, options, kGoldenSizes);
    if (module->named_parameters().contains("basis"))
      set(*module, "basis",
          at::tensor({std::cos(.3), std::sin(.3), -std::sin(.3), std::cos(.3)}, float64()).view({1, 2, 2}));
    set(*module, "position_table", at::tensor({.05, -.1, .2, .15, -.25}, float64()).view({1, 5}));
    EXPECT_TRUE(close(module->attend(q, k, v), head(at::tensor(golden, float64()).view({6, 2})), 1e-9));
  };
  check(Pattern::causal_self, {{"combine", "local"}},
        {-0.3894183423, 0.1986693308, 0.2777000446, 0.6923357707, 0.5054287070, 0.6256752791, 0.5939196679,
         0.4096138303, 0.2307683026, -0.1303786452, -0.4176031578, -0.5940714004});
  check(Pattern::causal_self, {},
        {-0.2798912964, 0.1713341312, 0.1236670843, 0.4599106618, 0.3046065017, 0.4225978576, 0.3834536418,
         0.3117653422, 0.1810535122, 0.0227386176, -0.1780589422, -0.2459015965});
  check(Pattern::causal_self, {{"memory_update", "window"}},
        {-0.1947091712, 0.0993346654, 0.1388500223, 0.3461678854, 0.2527143535, 0.3128376395, 0.3510370636,
         0.3126629463, 0.1618317641, 0.0493155299, -0.1766033786, -0.1701132128});
  check(Pattern::causal_self, {{"memory_update", "window"}, {"history_attention", "block_bidirectional"}},
        {-0.1947091712, 0.0993346654, 0.1388500223, 0.3461678854, 0.2527143535, 0.3128376395, 0.4812381849,
         0.3501551696, 0.2558686197, 0.0937944514, -0.1187179555, -0.1223592846});
  check(Pattern::noncausal_self, {},
        {0.2612684517, 0.3340910878, 0.2848168038, 0.2126761286, 0.1402453282, 0.0508249730, 0.0986297827, 0.0126304023,
         0.0329604288, -0.0951838788, -0.1759649663, -0.2849933857});
}

TEST(Lavo, GivesTheGoldenValuesOfTheMemoryAlone) {
  const at::Tensor x = head(waves(4, 3, 0.7, 1.3, 0.5));
  const at::Tensor q = head((at::arange(4, float64()).unsqueeze(1) * 0.4 - at::arange(3, float64()) * 0.9).cos());
  const auto check = [&](Pattern pattern, const FieldValues& options, std::initializer_list<double> golden) {
    const auto module = make("lavo", pattern, options, {.width = 3, .heads = 1});
    const double h = 1 / std::sqrt(2.0);
    set(*module, "basis", at::tensor({h, h, 0.0, 0.0, 0.0, 1.0}, float64()).view({1, 2, 3}));
    EXPECT_TRUE(close(module->attend(q, x, x), head(at::tensor(golden, float64()).view({4, 3})), 1e-9));
  };
  check(Pattern::causal_self, {{"r", int64_t{2}}, {"combine", "global"}, {"memory_input", "raw"}},
        {0.5568519131, 0.5568519131, 0.0097156670, 0.5972171595, 0.5972171595, -0.0568517805, 0.5145788870,
         0.5145788870, -0.1045057366, 0.3478932638, 0.3478932638, -0.1505471557});
  check(Pattern::noncausal_cross, {{"r", int64_t{2}}},
        {0.2998159875, 0.2998159875, -0.2137395738, 0.3320715020, 0.3320715020, -0.1713431630, 0.3478681963,
         0.3478681963, -0.1505801043, 0.3478932638, 0.3478932638, -0.1505471557});
}

// Contexts of one mean are one context (A.14.3).
TEST(Lavo, MemoryKnowsTheMeanAlone) {
  const auto rows = [](std::initializer_list<double> values) {
    return at::tensor(values, float64()).view({1, 1, 2, 2});
  };
  const at::Tensor q = rows({1, 0, 1, 0}), apart = rows({2, 0, 0, 2}), alike = rows({1, 1, 1, 1});
  const at::Tensor read = rows({0.7310585786, 0.2689414214, 0.7310585786, 0.2689414214});
  const auto run = [&](Pattern pattern, const FieldValues& options, const at::Tensor& context) {
    const auto module = make("lavo", pattern, options, kGoldenSizes);
    set(*module, "basis", at::eye(2, float64()).unsqueeze(0));
    return module->attend(q, context, context);
  };
  EXPECT_TRUE(close(run(Pattern::noncausal_cross, {{"r", int64_t{2}}}, apart), read, 1e-9));
  EXPECT_TRUE(close(run(Pattern::noncausal_cross, {{"r", int64_t{2}}}, alike), read, 1e-9));
  EXPECT_TRUE(
      close(run(Pattern::causal_self, {{"r", int64_t{2}}, {"combine", "global"}, {"memory_input", "raw"}}, apart),
            rows({1.7615941560, 0, 0.7310585786, 0.2689414214}), 1e-9));
}

TEST(Lavo, ProjectsAroundTheOperators) {
  const auto module = make("lavo", Pattern::causal_self, {{"r", int64_t{4}}, {"w", int64_t{3}}}, kSizes);
  for (const char* name : {"q", "k", "v", "out"}) set(*module, std::string(name) + ".weight", at::eye(16, float64()));
  const at::Tensor x = normal({2, 11, 16}, 1), heads = x.view({2, 11, 2, 8}).transpose(1, 2);
  const at::Tensor expected = module->attend(heads, heads, heads).transpose(1, 2).reshape({2, 11, 16});
  EXPECT_TRUE(close(module->forward(x), expected, layer_bound(*module, x, 3)));
}

TEST(Lavo, RefusesMoreSlotsThanTheHeadIsWide) {
  expect_input_error(
      [] {
        make("lavo", Pattern::causal_self, {{"r", int64_t{9}}}, kSizes);
      },
      "LAVO: r = 9 directions cannot be orthogonal in a head of width d = 8; choose r <= d or more width per head");
  expect_input_error(
      [] {
        make("lavo", Pattern::causal_self, {{"r", int64_t{0}}}, kSizes);
      },
      "lavo: r must be an integer from 1 to 65536, got 0");
}

TEST(Lavo, RefusesAnotherValueWidth) {
  const auto module = make("lavo", Pattern::causal_self, {{"r", int64_t{4}}}, kSizes);
  expect_input_error(
      [&] {
        module->attend(normal({1, 2, 3, 8}, 1), normal({1, 2, 3, 8}, 2), normal({1, 2, 3, 4}, 3));
      },
      "lavo: the width of v must be the head width of q, 8, got 4");
}

TEST(Lavo, CrossHasNoLocalBranch) {
  const auto module = make("lavo", Pattern::causal_cross, {{"r", int64_t{4}}, {"combine", "global"}}, kSizes);
  EXPECT_FALSE(module->named_parameters().contains("k.weight"));
  EXPECT_FALSE(module->named_parameters().contains("position_table"));
  expect_input_error(
      [] {
        make("lavo", Pattern::causal_cross, {{"r", int64_t{4}}, {"combine", "local"}}, kSizes);
      },
      "lavo: combine has no use in the pattern causal_cross, got local");
  expect_input_error(
      [] {
        make("lavo", Pattern::causal_cross, {{"r", int64_t{4}}, {"w", int64_t{3}}}, kSizes);
      },
      "lavo: w has no use in the pattern causal_cross, got 3");
  // Equations A.5 by hand.
  const auto in = operands(7);
  const at::Tensor q = in[0].narrow(2, 0, 5), v = in[2], basis = basis_of(*module);
  const at::Tensor mean = at::matmul(v, basis.transpose(-1, -2)).mean(2, true);
  const at::Tensor p = (at::matmul(q, basis.transpose(-1, -2)) * mean).softmax(-1);
  EXPECT_TRUE(close(module->attend(q, {}, v), at::matmul(p * mean, basis), kBound));
}

TEST(Lavo, ReadsUniformlyWithoutAQuery) {
  for (const int64_t r : {4, 8}) {
    const auto module = make("lavo", Pattern::noncausal_cross, {{"r", r}}, kSizes);
    const auto in = operands(9);
    const at::Tensor basis = basis_of(*module), mean = in[2].mean(2, true);
    const at::Tensor expected = at::matmul(at::matmul(mean, basis.transpose(-1, -2)), basis) / static_cast<double>(r);
    EXPECT_TRUE(close(module->attend(at::zeros_like(in[0]), {}, in[2]), expected.expand_as(in[0]), kBound));
    if (r == 8) {
      EXPECT_TRUE(close(expected, mean / 8, kBound)) << "a square basis gives back the mean";
    }
  }
}

TEST(Lavo, IgnoresSignsAndOrderOfSlots) {
  const auto module = make("lavo", Pattern::causal_self, {{"r", int64_t{4}}, {"w", int64_t{3}}}, kSizes);
  const auto in = operands(9);
  const at::Tensor expected = module->attend(in[0], in[1], in[2]).detach(), basis = basis_of(*module).clone();
  set(*module, "basis",
      basis.index_select(1, at::tensor({2, 0, 3, 1}, at::kLong)) *
          at::tensor({1., -1., -1., 1.}, float64()).view({4, 1}));
  EXPECT_TRUE(close(module->attend(in[0], in[1], in[2]), expected, kBound));
}

TEST(Lavo, MemoryLiesInTheRowSpaceOfTheBasis) {
  const auto module = make("lavo", Pattern::causal_self,
                           {{"r", int64_t{4}}, {"w", int64_t{3}}, {"combine", "global"}, {"basis_gain", 1.5}}, kSizes);
  const auto in = operands(9);
  const at::Tensor y = module->attend(in[0], in[1], in[2]), basis = basis_of(*module);
  const at::Tensor projected = at::matmul(at::matmul(y, basis.transpose(-1, -2)), basis) / (1.5 * 1.5);
  EXPECT_TRUE(close(projected, y, kBound));
}

// At r = d an orthogonal basis can be absorbed into the projections.
TEST(Lavo, ASquareBasisIsARotation) {
  const auto module = make("lavo", Pattern::causal_self, {{"r", int64_t{8}}, {"w", int64_t{3}}}, kSizes);
  const at::Tensor x = normal({2, 11, 16}, 1), expected = module->forward(x).detach();
  const at::Tensor basis = basis_of(*module), rotation = at::block_diag({basis[0], basis[1]});
  const double bound = layer_bound(*module, x, 3);
  const auto weights = module->named_parameters();
  for (const char* name : {"q", "k", "v"})
    set(*module, std::string(name) + ".weight", at::matmul(rotation, weights[std::string(name) + ".weight"].detach()));
  set(*module, "out.weight", at::matmul(weights["out.weight"].detach(), rotation.transpose(0, 1)));
  set(*module, "basis", at::eye(8, float64()).expand({2, 8, 8}));
  EXPECT_TRUE(close(module->forward(x), expected, 2 * bound));
}

TEST(Lavo, AZeroTableIsNone) {
  for (const Pattern pattern : {Pattern::causal_self, Pattern::noncausal_self}) {
    const FieldValues base = {{"r", int64_t{4}}, {"w", int64_t{3}}, {"epe_init", "zero"}};
    const FieldValues off = {{"r", int64_t{4}}, {"w", int64_t{3}}, {"epe", false}};
    const auto in = operands(9);
    const auto with = make("lavo", pattern, base, kSizes), none = make("lavo", pattern, off, kSizes);
    EXPECT_TRUE(close(with->attend(in[0], in[1], in[2]), none->attend(in[0], in[1], in[2]), kBound));
    EXPECT_FALSE(none->named_parameters().contains("position_table"));
  }
}

TEST(Lavo, AConstantAddedToTheTableChangesNothing) {
  const auto module = make("lavo", Pattern::causal_self, {{"r", int64_t{4}}, {"w", int64_t{3}}}, kSizes);
  const auto in = operands(9);
  const at::Tensor expected = module->attend(in[0], in[1], in[2]).detach();
  const at::Tensor table = module->named_parameters()["position_table"];
  set(*module, "position_table", table.detach() + 7);
  const at::Tensor y = module->attend(in[0], in[1], in[2]);
  EXPECT_TRUE(close(y, expected, kBound));
  y.square().sum().backward();
  EXPECT_TRUE(table.grad().narrow(1, 0, 3).ne(0).any().item<bool>());
  EXPECT_TRUE(table.grad().narrow(1, 3, 2).eq(0).all().item<bool>()) << "offsets ahead get no gradient";
}

TEST(Lavo, AblationsChangeTheMemoryAlone) {
  const auto options = [](const char* combine) { return small_lavo({{"combine", combine}}); };
  const auto mean = make("lavo", Pattern::causal_self, options("mean"), kSizes);
  const auto local = make("lavo", Pattern::causal_self, options("local"), kSizes);
  const auto in = operands(9);
  const at::Tensor &q = in[0], &k = in[1], &v = in[2];
  const at::Tensor plain = mean->attend(q, k, v).detach(), window = local->attend(q, k, v);

  mean->ablate("memory", "zero");
  EXPECT_TRUE(close(mean->attend(q, k, v), window * 0.5, kBound));
  mean->ablate("memory", "mean");
  const at::Tensor basis = basis_of(*mean);
  const at::Tensor counts = at::arange(1, 10, float64()).view({9, 1});
  const at::Tensor features = at::matmul(window, basis.transpose(-1, -2)).cumsum(2) / counts;
  EXPECT_TRUE(close(mean->attend(q, k, v), (window + at::matmul(features / 4, basis)) * 0.5, kBound));
  mean->ablate("memory", "swap");
  const at::Tensor other = features.roll(1, 0), p = (at::matmul(q, basis.transpose(-1, -2)) * other).softmax(-1);
  EXPECT_TRUE(close(mean->attend(q, k, v), (window + at::matmul(p * other, basis)) * 0.5, kBound));
  expect_input_error([&] { mean->attend(q.narrow(0, 0, 1), k.narrow(0, 0, 1), v.narrow(0, 0, 1)); },
                     "lavo: the ablation memory=swap needs at least 2 streams of one length, got 1");
  mean->ablate("memory", "none");
  EXPECT_TRUE(mean->attend(q, k, v).equal(plain));
  expect_input_error(
      [&] { mean->ablate("memory", "half"); },
      "lavo: ablation must be one of memory=none, memory=zero, memory=mean, memory=swap, local=none, local=zero, "
      "head=none, head=0, head=1, got memory=half");
  expect_input_error(
      [&] { local->ablate("memory", "zero"); },
      "lavo: ablation must be one of local=none, local=zero, head=none, head=0, head=1, got memory=zero");
}

TEST(Lavo, SwitchesOffTheLocalBranchAndHeads) {
  const auto module = make("lavo", Pattern::causal_self, {{"r", int64_t{4}}, {"w", int64_t{3}}}, kSizes);
  const auto in = operands(9);
  const auto run = [&] { return module->attend(in[0], in[1], in[2]).detach(); };
  const at::Tensor plain = run();
  module->ablate("memory", "zero");
  const at::Tensor half_local = run();
  module->ablate("memory", "none");
  module->ablate("local", "zero");
  EXPECT_TRUE(close(run(), plain - half_local, kBound)) << "the memory still reads what local attention aggregates";
  module->ablate("local", "none");
  module->ablate("head", "1");
  EXPECT_TRUE(run().select(1, 1).eq(0).all().item<bool>());
  EXPECT_TRUE(run().select(1, 0).equal(plain.select(1, 0)));
  module->ablate("head", "none");
  EXPECT_TRUE(run().equal(plain));
}

TEST(Lavo, CostIsThatOfTheSpecification) {
  const auto module =
      make("lavo", Pattern::causal_self, {{"r", int64_t{64}}, {"w", int64_t{16}}}, {.width = 768, .heads = 12});
  const auto cost = module->cost(100000, 100000);
  EXPECT_EQ(cost.state_bytes, 8 * 1536 + 4 * 23040 + 8);
  // 4 w d + 6 r d per head and token, less the first w - 1 rows' missing keys.
  EXPECT_EQ(cost.flops, 768.0 * (100000.0 * (4 * 16 + 6 * 64) - 4 * 120));
  EXPECT_EQ(cost.bytes, 4.0 * 768 * 4 * 100000) << "q, k, v and the output";
  const auto cross = make("lavo", Pattern::causal_cross, {{"r", int64_t{64}}}, {.width = 768, .heads = 12});
  EXPECT_EQ(cross->cost(10, 1000).bytes, 4.0 * 768 * (2 * 10 + 1000)) << "a cross pattern has no k";
  const auto slices =
      make("lavo", Pattern::causal_self, {{"memory_proj", "input_slice"}}, {.width = 768, .heads = 12, .kv_heads = 4});
  EXPECT_EQ(slices->cost(1000, 1000).bytes, 4.0 * 1000 * (3 * 768 + 2 * 256)) << "q, the output, the input, k and v";
  State state = module->begin(1);
  EXPECT_EQ(state.bytes(), 8 * 1536 + 8 * 23040 + 8) << "in float64";
  module->extend(state, normal({1, 300, 768}, 1));
  EXPECT_EQ(state.bytes(), 8 * 1536 + 8 * 23040 + 8);
}

}  // namespace
}  // namespace longspan::nn
