// delta_net, gated_delta_net and gla.
#include "longspan/nn/memory_layer.h"

#include "plain_memory.h"

namespace longspan::nn {
namespace {

struct Plain {
  at::Tensor y;
  double smallest_unit = 1, smallest_rms = 1;
  double magnified() const { return 1 / (smallest_unit * smallest_rms); }
};

/// The layer's output on one sequence x [N, E].
Plain plain(const Attention& module, const at::Tensor& x) {
  const Weights weights(module);
  const FieldValues options = module.options();
  const bool gla = module.method() == "gla";
  const AttentionSizes& sizes = module.sizes();
  const int64_t slots = weights["q.weight"].size(0) / sizes.heads, width = weights["norm"].size(0);
  const auto rows = [&](const std::string& name) {
    at::Tensor out = weights.map(name, x);
    if (weights.has(name + "_conv")) out = plain_convolution(out, weights[name + "_conv"]);
    return !gla || weights.has(name + "_conv") ? out * out.sigmoid() : out;
  };
  const at::Tensor q = rows("q"), k = rows("k"), v = rows("v");
  at::Tensor beta = at::ones({x.size(0), sizes.heads}, float64()), log_alpha;
  if (!gla) beta = weights.map("beta", x).sigmoid();
  if (!gla && options.at("negative_eigenvalues") == FieldValue(true)) beta = beta * 2;
  if (module.method() == "gated_delta_net")
    log_alpha = -weights["A_log"].exp() * (1 + (weights.map("forget", x) + weights["dt_bias"]).exp()).log();
  if (gla)
    log_alpha = weights.map("forget", weights.map("forget_in", x)).sigmoid().log() /
                std::get<double>(options.at("gate_temperature"));

  Plain out;
  std::vector<at::Tensor> heads;
  for (int64_t h = 0; h < sizes.heads; ++h) {
    const int64_t from = h / (sizes.heads / sizes.key_heads());
    at::Tensor queries = head_of(q, h, slots), keys = head_of(k, from, slots), alpha;
    if (!gla) {
      queries = plain_unit(queries, out.smallest_unit);
      keys = plain_unit(keys, out.smallest_unit);
    }
    if (log_alpha.defined()) alpha = (gla ? head_of(log_alpha, from, slots) : log_alpha.select(1, h)).exp();
    const at::Tensor o = plain_memory(queries / std::sqrt(static_cast<double>(slots)), keys, head_of(v, from, width),
                                      beta.select(1, h), alpha, !gla);
    at::Tensor y = plain_rms(o, out.smallest_rms) * weights["norm"];
    if (weights.has("gate.weight")) {
      const at::Tensor gate = head_of(weights.map("gate", x), h, width);
      y = y * gate * gate.sigmoid();
    }
    heads.push_back(y);
  }
  out.y = weights.map("out", at::cat(heads, 1));
  return out;
}

class MemoryLayers : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Nn, MemoryLayers, ::testing::Values("delta_net", "gated_delta_net", "gla"));

TEST_P(MemoryLayers, AreTheirDefinitions) {
  const at::NoGradGuard no_grad;
  for (const FieldValues& options : harness_configurations(find_attention(GetParam()), Pattern::causal_self))
    for (const int64_t kv_heads : {2, 1}) {
      const auto module =
          make(GetParam(), Pattern::causal_self, options, {.width = 16, .heads = 2, .kv_heads = kv_heads});
      shake(*module, 3);
      const at::Tensor x = normal({2, 37, 16}, 1), y = module->forward(x);
      for (int64_t b = 0; b < 2; ++b) {
        const Plain expected = plain(*module, x[b]);
        EXPECT_TRUE(close(y[b], expected.y, expected.magnified() * layer_bound(*module, x, 37)));
      }
    }
}

TEST_P(MemoryLayers, AnyCutOfAStreamIsTheWhole) {
  const at::NoGradGuard no_grad;
  const auto module = make(GetParam(), Pattern::causal_self, {{"conv", true}}, kSizes);
  shake(*module, 3);
  const at::Tensor x = normal({1, 40, 16}, 1);
  const Plain expected = plain(*module, x[0]);
  for (int64_t piece = 1; piece <= 20; ++piece) {
    State state = module->begin(1);
    std::vector<at::Tensor> parts;
    for (int64_t at = 0; at < 40; at += piece)
      parts.push_back(module->extend(state, x.narrow(1, at, std::min(piece, 40 - at))));
    EXPECT_TRUE(close(at::cat(parts, 1)[0], expected.y, expected.magnified() * layer_bound(*module, x, 40))) << piece;
  }
}

TEST_P(MemoryLayers, PaddingAndPacksAreRanks) {
  const at::NoGradGuard no_grad;
  const auto module = make(GetParam(), Pattern::causal_self, {{"conv", true}}, kSizes);
  const at::Tensor x = normal({1, 9, 16}, 1);
  const at::Tensor kept = at::tensor({1, 2, 4, 5, 8}, at::kLong), valid = at::zeros({1, 9}, at::kBool);
  valid.index_fill_(1, kept, true);
  const double bound = layer_bound(*module, x, 9);
  const Plain gaps = plain(*module, x[0].index_select(0, kept));
  EXPECT_TRUE(close(module->forward(x, {.valid = valid})[0].index_select(0, kept), gaps.y, gaps.magnified() * bound));
  const at::Tensor packed = module->forward(x, {.cu_seqlens = at::tensor({0, 1, 1, 3, 9}, at::kLong)});
  for (const auto& [first, length] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}, {3, 6}}) {
    const Plain alone = plain(*module, x[0].narrow(0, first, length));
    EXPECT_TRUE(close(packed[0].narrow(0, first, length), alone.y, alone.magnified() * bound));
  }
}

TEST_P(MemoryLayers, CountTheirState) {
  const auto module = make(GetParam(), Pattern::causal_self, {}, {.width = 64, .heads = 4, .kv_heads = 2});
  module->to(torch::kFloat);
  State state = module->begin(1);
  EXPECT_EQ(module->cost(100, 100).state_bytes, static_cast<double>(state.bytes()));
  module->extend(state, normal({1, 300, 64}, 1).to(at::kFloat));
  EXPECT_EQ(module->cost(100, 100).state_bytes, static_cast<double>(state.bytes()));
}

TEST_P(MemoryLayers, EveryParameterLearns) {
  const auto module = make(GetParam(), Pattern::causal_self, {{"conv", true}, {"output_gate", true}}, kSizes);
  module->forward(normal({1, 20, 16}, 1)).square().sum().backward();
  for (const auto& item : module->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(item.value().grad().ne(0).any().item<bool>()) << item.key();
  }
}

TEST_P(MemoryLayers, RefuseWhatDoesNotGoTogether) {
  const std::string name = GetParam();
  const auto refused = [&](const FieldValues& options, const std::string& text, AttentionSizes sizes = kSizes) {
    expect_input_error([&] { make(name, Pattern::causal_self, options, sizes); }, name + text);
  };
  refused({{"conv", false}, {"conv_width", int64_t{2}}}, ": conv_width has no use with conv = false, got 2");
  refused({{"expand_k", 40.0}},
          ": expand_k must make a head of width 8 between 1 and 256 wide, got 40 times that, 320");
  refused({{"expand_k", 0.375}}, ": rotary positions need an even width of queries and keys per head, got 3",
          {.width = 16, .heads = 2, .rotary_base = 100});
  expect_input_error([&] { make(name, Pattern::noncausal_self); },
                     name +
                         ": the pattern noncausal_self is not supported; methods that have it: lavo, diffuser, "
                         "local, softmax");
}

TEST_P(MemoryLayers, ShowWhatTheyDo) {
  const at::NoGradGuard no_grad;
  const auto module = make(GetParam(), Pattern::causal_self, {}, kSizes);
  const auto shown = module->inspect(normal({2, 11, 16}, 1));
  EXPECT_EQ(shown.at("beta").sizes(), (std::vector<int64_t>{2, 2, 11}));
  EXPECT_EQ(shown.count("alpha") == 1, GetParam() != "delta_net");
  EXPECT_EQ(shown.at("norm").sizes(), (std::vector<int64_t>{2, 2, 11}));
}

// Five maps of 0.75, 0.75, 1.5, 1.5, 1.5 E^2, or 0.5, 0.5, 1, 1, 1 E^2, or four of E^2.
TEST(MemoryLayer, MapsAreAsLargeAsTheirDefinitionsSay) {
  const auto maps = [](const std::string& name) {
    const auto module = make(name, Pattern::causal_self, {}, {.width = 64, .heads = 4});
    int64_t numbers = 0;
    for (const char* map : {"q.weight", "k.weight", "v.weight", "gate.weight", "out.weight"})
      if (const at::Tensor* weight = module->named_parameters().find(map)) numbers += weight->numel();
    return numbers;
  };
  EXPECT_EQ(maps("delta_net"), 4 * 64 * 64);
  EXPECT_EQ(maps("gated_delta_net"), 6 * 64 * 64);
  EXPECT_EQ(maps("gla"), 4 * 64 * 64);
}

TEST(MemoryLayer, GatedDeltaNetStartsAsItSays) {
  const auto parameters =
      make("gated_delta_net", Pattern::causal_self, {}, {.width = 256, .heads = 64})->named_parameters();
  const at::Tensor rate = parameters["A_log"].exp(), step = at::softplus(parameters["dt_bias"]);
  EXPECT_TRUE(rate.gt(0).logical_and(rate.le(16)).all().item<bool>());
  EXPECT_GT(rate.max().item<double>(), 12);
  EXPECT_LT(rate.min().item<double>(), 4);
  EXPECT_TRUE(step.gt(0.00099).logical_and(step.lt(0.1001)).all().item<bool>());
  EXPECT_LT(step.min().item<double>(), 0.003);
  EXPECT_GT(step.max().item<double>(), 0.03);
  for (const char* name : {"A_log", "dt_bias", "norm"}) EXPECT_EQ(parameters[name].dim(), 1) << "no weight decay";
  EXPECT_EQ(parameters["q_conv"].dim(), 3) << "no weight decay";
}

// Rotary positions turn queries and keys: outputs stay what they are when all positions move on.
TEST(MemoryLayer, RotaryPositionsAreRelative) {
  const at::NoGradGuard no_grad;
  const auto module = make("delta_net", Pattern::causal_self, {}, {.width = 16, .heads = 2, .rotary_base = 100});
  const auto plain_one = make("delta_net", Pattern::causal_self, {}, kSizes);
  const at::Tensor x = normal({1, 12, 16}, 1);
  EXPECT_FALSE(module->forward(x).equal(plain_one->forward(x)));
  State state = module->begin(1);
  state.set("count", at::full({1}, 160, at::kLong));  // a chunk border
  const double bound =
      layer_bound(*module, x, 12) * 160 / plain(*plain_one, x[0]).smallest_rms / plain(*plain_one, x[0]).smallest_unit;
  EXPECT_TRUE(close(module->extend(state, x), module->forward(x), bound));
}

}  // namespace
}  // namespace longspan::nn
