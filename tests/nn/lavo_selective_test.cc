#include "longspan/nn/lavo_selective.h"

#include "plain_memory.h"

namespace longspan::nn {
namespace {

FieldValues small(FieldValues options = {}) {
  options.insert({"r", int64_t{4}});
  options.insert({"w", int64_t{3}});
  return options;
}

/// The layer's output on one sequence x [N, E], and by how much its divisions may magnify errors.
struct Plain {
  at::Tensor y;
  double smallest_unit = 1, smallest_rms = 1;
  double magnified() const { return 1 / (smallest_unit * smallest_rms); }
};

Plain plain(const LavoSelectiveAttention& module, const at::Tensor& x, const std::optional<at::Tensor>& source = {}) {
  const Weights weights(module);
  const FieldValues options = module.options();
  const auto is = [&](const char* name, const FieldValue& value) { return options.at(name) == value; };
  const AttentionSizes& sizes = module.sizes();
  const int64_t width = sizes.head_width(), group = sizes.heads / sizes.key_heads();
  const at::Tensor from = source.value_or(x);
  const bool own = weights.has("memory_q.weight");
  const at::Tensor q = weights.map("q", x), k = weights.map("k", from), v = weights.map("v", from);
  const at::Tensor memory_q = own ? weights.map("memory_q", x) : q;
  at::Tensor memory_k = own ? weights.map("memory_k", from) : k;
  if (is("conv", true)) memory_k = plain_convolution(memory_k, weights["conv"]);
  const at::Tensor beta = weights.map("beta", from).sigmoid();
  at::Tensor alpha;
  if (!is("decay", std::string("none"))) alpha = 1 - weights.map("forget", from).sigmoid();

  Plain out;
  const auto address = [&](const at::Tensor& rows, const at::Tensor& basis) {
    const at::Tensor scores = at::matmul(rows, basis.t());
    return is("addresses", std::string("softmax")) ? scores.softmax(-1) : plain_unit(scores, out.smallest_unit);
  };
  std::vector<at::Tensor> heads;
  for (int64_t h = 0; h < sizes.heads; ++h) {
    const at::Tensor bases = weights["basis"], basis = bases[std::min(h, bases.size(0) - 1)];
    const at::Tensor kappa = address(head_of(memory_k, h / group, width), basis);
    const at::Tensor rho = address(head_of(memory_q, h, width), basis), values = head_of(v, h / group, width);
    at::Tensor kept;
    if (alpha.defined())
      kept = is("decay", std::string("scalar")) ? alpha.select(1, h) : head_of(alpha, h, kappa.size(1));
    at::Tensor o;
    if (source) {  // all of the source, read by every row of x
      std::vector<at::Tensor> rows;
      for (int64_t t = 0; t < x.size(0); ++t) {
        const at::Tensor reading = rho[t].expand({kappa.size(0), -1});
        rows.push_back(plain_memory(reading, kappa, values, beta.select(1, h), kept, is("delta", true))[-1]);
      }
      o = at::stack(rows);
    } else {
      o = plain_memory(rho, kappa, values, beta.select(1, h), kept, is("delta", true));
    }
    at::Tensor y = plain_rms(o, out.smallest_rms) * weights["gain"].narrow(0, h * width, width);
    if (!source) {
      const int64_t w = std::get<int64_t>(options.at("w"));
      for (int64_t t = 0; t < x.size(0); ++t) {
        const int64_t first = std::max<int64_t>(0, t - w + 1), seen = t - first + 1;
        at::Tensor scores = at::mv(head_of(k, h / group, width).narrow(0, first, seen), head_of(q, h, width)[t]) /
                            std::sqrt(static_cast<double>(width));
        if (weights.has("position_table")) {
          const at::Tensor table = weights["position_table"];
          scores = scores + table[std::min(h, table.size(0) - 1)].narrow(0, w - seen, seen);
        }
        y[t] += at::mv(values.narrow(0, first, seen).t(), scores.softmax(0));
      }
    }
    heads.push_back(y);
  }
  out.y = weights.map("out", at::cat(heads, 1));
  return out;
}

std::shared_ptr<LavoSelectiveAttention> selective(Pattern pattern, const FieldValues& options = {},
                                                  AttentionSizes sizes = kSizes) {
  return std::dynamic_pointer_cast<LavoSelectiveAttention>(make("lavo_selective", pattern, small(options), sizes));
}

TEST(LavoSelective, IsItsDefinition) {
  const at::NoGradGuard no_grad;
  for (const FieldValues& options :
       {FieldValues{}, FieldValues{{"delta", true}}, FieldValues{{"decay", "none"}}, FieldValues{{"decay", "per_slot"}},
        FieldValues{{"decay", "per_slot"}, {"delta", true}}, FieldValues{{"decay", "none"}, {"delta", true}},
        FieldValues{{"addresses", "free"}, {"r", int64_t{11}}}, FieldValues{{"addresses", "softmax"}},
        FieldValues{{"conv", false}}, FieldValues{{"conv_width", int64_t{6}}}, FieldValues{{"share_qk", true}},
        FieldValues{{"epe", false}, {"w", int64_t{40}}}, FieldValues{{"basis_sharing", "shared_heads"}},
        FieldValues{{"epe_sharing", "shared_heads"}, {"r", int64_t{8}}}})
    for (const int64_t kv_heads : {2, 1}) {
      const auto module = selective(Pattern::causal_self, options, {.width = 16, .heads = 2, .kv_heads = kv_heads});
      shake(*module, 3);
      const at::Tensor x = normal({2, 37, 16}, 1), y = module->forward(x);
      for (int64_t b = 0; b < 2; ++b) {
        const Plain expected = plain(*module, x[b]);
        EXPECT_TRUE(close(y[b], expected.y, expected.magnified() * layer_bound(*module, x, 37)));
      }
    }
}

TEST(LavoSelective, CrossPatternsReadWhatTheSourceWrote) {
  const at::NoGradGuard no_grad;
  for (const Pattern pattern : {Pattern::causal_cross, Pattern::noncausal_cross}) {
    const auto module = std::dynamic_pointer_cast<LavoSelectiveAttention>(
        make("lavo_selective", pattern, {{"r", int64_t{4}}, {"delta", true}, {"decay", "per_slot"}}, kSizes));
    shake(*module, 3);
    const at::Tensor x = normal({2, 5, 16}, 1), source = normal({2, 23, 16}, 2);
    const at::Tensor y = module->forward(x, {.source = source});
    for (int64_t b = 0; b < 2; ++b) {
      const Plain expected = plain(*module, x[b], source[b]);
      EXPECT_TRUE(close(y[b], expected.y, expected.magnified() * layer_bound(*module, x, 23)));
    }
    EXPECT_FALSE(module->named_parameters().contains("position_table"));
    EXPECT_FALSE(module->named_parameters().contains("memory_q.weight"));
    EXPECT_FALSE(y.equal(module->forward(x, {.source = source.flip(1)}))) << "a source is written in its order";
  }
}

// Positions, the convolution's included, are ranks among the valid tokens; sequences do not see each other.
TEST(LavoSelective, PaddingAndPacksAreRanks) {
  const at::NoGradGuard no_grad;
  const auto module = selective(Pattern::causal_self);
  shake(*module, 3);
  const at::Tensor x = normal({1, 9, 16}, 1);
  const at::Tensor kept = at::tensor({1, 2, 4, 5, 8}, at::kLong), valid = at::zeros({1, 9}, at::kBool);
  valid.index_fill_(1, kept, true);
  const at::Tensor y = module->forward(x, {.valid = valid});
  const Plain gaps = plain(*module, x[0].index_select(0, kept));
  const double bound = layer_bound(*module, x, 9);
  EXPECT_TRUE(close(y[0].index_select(0, kept), gaps.y, gaps.magnified() * bound));
  EXPECT_TRUE(y[0].masked_select(valid[0].logical_not().unsqueeze(1)).eq(0).all().item<bool>());

  const at::Tensor packed = module->forward(x, {.cu_seqlens = at::tensor({0, 1, 1, 3, 9}, at::kLong)});
  for (const auto& [first, length] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}, {3, 6}}) {
    const Plain alone = plain(*module, x[0].narrow(0, first, length));
    EXPECT_TRUE(close(packed[0].narrow(0, first, length), alone.y, alone.magnified() * bound));
  }
}

// Cuts of every size, below and above the convolution's reach and the memory's chunk.
TEST(LavoSelective, AnyCutOfAStreamIsTheWhole) {
  const at::NoGradGuard no_grad;
  for (const bool delta : {false, true}) {
    const auto module = selective(Pattern::causal_self, {{"decay", "per_slot"}, {"delta", delta}});
    shake(*module, 3);
    const at::Tensor x = normal({1, 40, 16}, 1);
    const Plain expected = plain(*module, x[0]);
    const double bound = expected.magnified() * layer_bound(*module, x, 40);
    for (int64_t piece = 1; piece <= 20; ++piece) {
      State state = module->begin(1);
      std::vector<at::Tensor> parts;
      for (int64_t at = 0; at < 40; at += piece)
        parts.push_back(module->extend(state, x.narrow(1, at, std::min(piece, 40 - at))));
      EXPECT_TRUE(close(at::cat(parts, 1)[0], expected.y, bound)) << piece;
    }
  }
}

TEST(LavoSelective, TakesNoneAndOneAndWindowsAboveTheLength) {
  const at::NoGradGuard no_grad;
  const auto module = selective(Pattern::causal_self, {{"w", int64_t{50}}});
  EXPECT_EQ(module->forward(normal({2, 0, 16}, 1)).sizes(), (std::vector<int64_t>{2, 0, 16}));
  const at::Tensor one = normal({1, 1, 16}, 1);
  const Plain expected = plain(*module, one[0]);
  EXPECT_TRUE(close(module->forward(one)[0], expected.y, expected.magnified() * layer_bound(*module, one, 1)));
  State state = module->begin(2);
  EXPECT_EQ(module->extend(state, normal({2, 0, 16}, 1)).sizes(), (std::vector<int64_t>{2, 0, 16}));
  EXPECT_TRUE(state.at("memory").eq(0).all().item<bool>());
}

// With one value a head and key, and queries that ask for it: the memory gives back what was written last.
TEST(LavoSelective, AWriteReplacesWhatItsAddressHeld) {
  const auto module =
      selective(Pattern::causal_self, {{"r", int64_t{2}}, {"decay", "none"}, {"conv", false}, {"delta", true}},
                {.width = 2, .heads = 1});
  const at::NoGradGuard no_grad;
  auto parameters = module->named_parameters();
  parameters["basis"].copy_(at::eye(2, float64()).unsqueeze(0));
  parameters["beta.bias"].fill_(50);  // beta = 1
  parameters["gain"].fill_(1);
  module->ablate("local", "zero");
  const auto rows = [](std::initializer_list<double> values) {
    return at::tensor(values, float64()).view({1, 1, -1, 2});
  };
  const at::Tensor k = rows({1, 0, 0, 1, 1, 0, 0, 1}), v = rows({1, 1, 1, 0, 0, 1, 1, 1}),
                   q = rows({1, 0, 1, 0, 1, 0, 1, 0});
  // Unit vectors are so within 1e-6, which a write and a read meet three times.
  const double s = 1 / std::sqrt(1 + 1e-5), d = 1 / std::sqrt(0.5 + 1e-5);
  EXPECT_TRUE(close(module->attend(q, k, v), rows({s, s, s, s, 0, d, 0, d}), 1e-5));
  const auto sum = selective(Pattern::causal_self, {{"r", int64_t{2}}, {"decay", "none"}, {"conv", false}},
                             {.width = 2, .heads = 1});
  auto others = sum->named_parameters();
  for (const auto& item : parameters) others[item.key()].copy_(item.value());
  sum->ablate("local", "zero");
  const double five = std::sqrt(2.5);  // the first two writes of the address, (1, 1) and (0, 1), add up
  EXPECT_TRUE(close(sum->attend(q, k, v), rows({s, s, s, s, 1 / five, 2 / five, 1 / five, 2 / five}), 1e-5));
}

TEST(LavoSelective, StartsAsItSays) {
  const auto module = selective(Pattern::causal_self, {}, {.width = 32, .heads = 4});
  auto parameters = module->named_parameters();
  const at::Tensor conv = parameters["conv"];
  EXPECT_TRUE(conv.equal(at::tensor({0., 0., .5, .5}, float64()).expand({32, 1, 4}).contiguous()));
  EXPECT_TRUE(parameters["gain"].eq(static_cast<double>(0.05F)).all().item<bool>());
  const at::Tensor lasts = 1 / parameters["forget.bias"].sigmoid();  // 1 / (1 - alpha)
  EXPECT_TRUE(close(lasts, at::tensor({64., 256., 1024., 4096.}, float64()), 4096 * 8 * std::ldexp(1.0, -24)));
  EXPECT_TRUE(close(parameters["memory_q.weight"], parameters["memory_k.weight"], 0)) << "tied";
  EXPECT_FALSE(parameters["q.weight"].equal(parameters["k.weight"]));
  // A tenth of the usual scale: uniform in +-limit.
  const double usual = std::sqrt(0.5) * std::sqrt(6.0 / (32 + 4));
  EXPECT_LE(parameters["beta.weight"].abs().max().item<double>(), usual);
  EXPECT_GE(parameters["beta.weight"].abs().max().item<double>(), usual * 0.9);
  EXPECT_LE(parameters["forget.weight"].abs().max().item<double>(), usual / 10 * 1.000001);
  EXPECT_GE(parameters["forget.weight"].abs().max().item<double>(), usual / 10 * 0.9);

  const auto apart = selective(Pattern::causal_self, {{"tied_init", false}})->named_parameters();
  EXPECT_FALSE(apart["memory_q.weight"].equal(apart["memory_k.weight"]));
  const auto grouped =
      selective(Pattern::causal_self, {}, {.width = 32, .heads = 4, .kv_heads = 2})->named_parameters();
  const at::Tensor q = grouped["memory_q.weight"].view({2, 2, 8, 32}),
                   k = grouped["memory_k.weight"].view({2, 1, 8, 32});
  EXPECT_TRUE(q.equal(k.expand_as(q))) << "every query head starts as its key head";
  const auto slots = selective(Pattern::causal_self, {{"decay", "per_slot"}}, {.width = 32, .heads = 4});
  const at::Tensor bias = slots->named_parameters()["forget.bias"].view({4, 4});
  EXPECT_TRUE(bias.equal(parameters["forget.bias"].unsqueeze(1).expand_as(bias).contiguous())) << "slots start alike";
  const auto one = selective(Pattern::causal_self, {}, {.width = 8, .heads = 1})->named_parameters();
  EXPECT_NEAR((1 / one["forget.bias"].sigmoid()).item<double>(), 512, 512 * 8 * std::ldexp(1.0, -24));
  EXPECT_TRUE(make("lavo_selective", Pattern::causal_cross, {{"r", int64_t{4}}})
                  ->named_parameters()["gain"]
                  .eq(1)
                  .all()
                  .item<bool>());
}

TEST(LavoSelective, KeepsTheBasisOrthonormalAfterAStep) {
  const auto module = selective(Pattern::causal_self);
  const at::Tensor basis = module->named_parameters()["basis"];
  const auto departure = [&] {
    return (at::matmul(basis, basis.transpose(-1, -2)) - at::eye(4, float64())).abs().max().item<double>();
  };
  {
    const at::NoGradGuard no_grad;
    basis.add_(normal({2, 4, 8}, 4), 0.1);
  }
  EXPECT_GT(departure(), 0.01);
  module->after_step();
  EXPECT_LT(departure(), 32 * std::ldexp(1.0, -52));
  const auto free = selective(Pattern::causal_self, {{"addresses", "free"}});
  const at::Tensor rows = free->named_parameters()["basis"].detach().clone();
  free->after_step();
  EXPECT_TRUE(free->named_parameters()["basis"].equal(rows));
  EXPECT_GT(selective(Pattern::causal_self, {{"basis_mode", "soft"}})->auxiliary_loss().numel(), 0);
}

TEST(LavoSelective, EveryParameterLearns) {
  for (const char* decay : {"scalar", "per_slot"}) {
    const auto module = selective(Pattern::causal_self, {{"decay", decay}});
    module->forward(normal({1, 20, 16}, 1)).square().sum().backward();
    for (const auto& item : module->named_parameters()) {
      if (item.key() == "k.bias") continue;  // adds the same to all scores of a softmax
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_TRUE(item.value().grad().ne(0).any().item<bool>()) << item.key();
    }
  }
}

TEST(LavoSelective, RefusesWhatDoesNotGoTogether) {
  const auto refused = [](Pattern pattern, const FieldValues& options, const std::string& text) {
    expect_input_error([&] { make("lavo_selective", pattern, options, kSizes); }, text);
  };
  const Pattern self = Pattern::causal_self;
  refused(self, {{"r", int64_t{9}}},
          "lavo_selective: r = 9 addresses cannot be orthonormal in a head of width d = 8; choose r <= d, more width "
          "per head, or addresses = free");
  make("lavo_selective", self, {{"r", int64_t{8}}}, kSizes);
  refused(self, {{"r", int64_t{257}}}, "lavo_selective: r must be an integer from 1 to 256, got 257");
  refused(self, small({{"conv_width", int64_t{0}}}),
          "lavo_selective: conv_width must be an integer from 1 to 64, got 0");
  refused(self, small({{"conv", false}, {"conv_width", int64_t{3}}}),
          "lavo_selective: conv_width has no use with conv = false, got 3");
  refused(self, small({{"addresses", "free"}, {"basis_mode", "frozen"}}),
          "lavo_selective: basis_mode has no use without addresses = orthonormal, got frozen");
  refused(self, small({{"basis_gain", 2.0}}),
          "lavo_selective: basis_gain has no use without addresses = softmax, got 2.0");
  refused(self, small({{"share_qk", true}, {"tied_init", false}}),
          "lavo_selective: tied_init has no use with share_qk = true, got false");
  refused(self, small({{"epe", false}, {"epe_init", "zero"}}),
          "lavo_selective: epe_init has no use with epe = false, got zero");
  refused(Pattern::causal_cross, {{"r", int64_t{4}}, {"w", int64_t{3}}},
          "lavo_selective: w has no use in the pattern causal_cross, got 3");
  refused(Pattern::noncausal_self, small(),
          "lavo_selective: the pattern noncausal_self is not supported; methods that have it: lavo, diffuser, local, "
          "softmax");
}

TEST(LavoSelective, AblationsSwitchItsParts) {
  const at::NoGradGuard no_grad;
  const auto module = selective(Pattern::causal_self, {{"gain_init", 1.0}});
  const at::Tensor q = normal({2, 2, 9, 8}, 1), k = normal({2, 2, 9, 8}, 2), v = normal({2, 2, 9, 8}, 3);
  const auto run = [&] { return module->attend(q, k, v); };
  const at::Tensor whole = run();
  module->ablate("memory", "zero");
  const at::Tensor near = run();
  module->ablate("memory", "none");
  module->ablate("local", "zero");
  const at::Tensor far = run();
  const double bound = 4 * std::ldexp(1.0, -53) * (near.abs().max() + far.abs().max()).item<double>();
  EXPECT_TRUE(close(near + far, whole, bound));
  module->ablate("memory", "swap");
  EXPECT_FALSE(run().equal(far));
  EXPECT_TRUE(module->attend(q, k.roll(1, 0), v.roll(1, 0)).equal(far)) << "of two streams, each other's";
  module->ablate("memory", "none");
  module->ablate("local", "none");
  module->ablate("head", "1");
  EXPECT_TRUE(run().select(1, 1).eq(0).all().item<bool>());
  module->ablate("head", "none");
  EXPECT_TRUE(run().equal(whole));
  expect_input_error([&] { module->ablate("memory", "mean"); },
                     "lavo_selective: ablation must be one of memory=none, memory=zero, memory=swap, local=none, "
                     "local=zero, head=none, head=0, head=1, got memory=mean");
  module->ablate("memory", "swap");
  expect_input_error(
      [&] {
        module->forward(normal({1, 4, 16}, 1));
      },
      "lavo_selective: the ablation memory=swap needs at least 2 streams of one length, got 1");
}

TEST(LavoSelective, ShowsWhatItDoes) {
  const at::NoGradGuard no_grad;
  const auto module = selective(Pattern::causal_self, {{"delta", true}});
  shake(*module, 3);
  const at::Tensor x = normal({2, 11, 16}, 1);
  const auto shown = module->inspect(x);
  EXPECT_EQ(shown.at("beta").sizes(), (std::vector<int64_t>{2, 2, 11}));
  EXPECT_EQ(shown.at("occupancy").sizes(), (std::vector<int64_t>{2, 2, 11, 4}));
  EXPECT_TRUE(close(shown.at("novelty").select(2, 0), at::ones({2, 2}, float64()), 1e-15)) << "nothing is known yet";
  // The first write: beta v in the direction of its address.
  const at::Tensor v = at::linear(x, module->named_parameters()["v.weight"], module->named_parameters()["v.bias"]);
  const at::Tensor norms = v.view({2, 11, 2, 8}).transpose(1, 2).square().sum(-1).sqrt();
  const at::Tensor first = (shown.at("beta") * norms).unsqueeze(-1) * shown.at("writing").abs();
  EXPECT_TRUE(close(shown.at("occupancy").select(2, 0), first.select(2, 0), 1e-13));
  EXPECT_TRUE(close(shown.at("local_weights").sum(-1), at::ones({2, 2, 11}, float64()), 1e-14));
}

TEST(LavoSelective, CostCountsTheState) {
  const auto module =
      make("lavo_selective", Pattern::causal_self, {{"r", int64_t{16}}, {"w", int64_t{5}}}, {.width = 64, .heads = 4});
  module->to(torch::kFloat);
  State state = module->begin(1);
  EXPECT_EQ(module->cost(100, 100).state_bytes, static_cast<double>(state.bytes()));
  module->extend(state, normal({1, 300, 64}, 1).to(at::kFloat));
  EXPECT_EQ(module->cost(100, 100).state_bytes, static_cast<double>(state.bytes())) << "constant";
  // Addresses 4 R D, the recurrence 5 R D (the decay included), 4 taps, the window of 5 keys less those that lack; the
  // delta rule reads before it writes, 2 R D.
  EXPECT_EQ(module->cost(100, 100).flops, 64.0 * (100 * (9 * 16 + 2 * 4) + 4 * (100 * 5 - 10)));
  EXPECT_EQ(make("lavo_selective", Pattern::causal_self, {{"r", int64_t{16}}, {"w", int64_t{5}}, {"delta", true}},
                 {.width = 64, .heads = 4})
                ->cost(100, 100)
                .flops,
            64.0 * (100 * (11 * 16 + 2 * 4) + 4 * (100 * 5 - 10)));
  EXPECT_EQ(make("lavo_selective", Pattern::causal_cross, {{"r", int64_t{16}}}, {.width = 64, .heads = 4})
                ->cost(10, 1000)
                .state_bytes,
            4 * 64 * 16 + 8);
}

}  // namespace
}  // namespace longspan::nn
