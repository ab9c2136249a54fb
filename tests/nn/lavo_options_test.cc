// What single options of LAVO promise.
#include "longspan/nn/lavo.h"
#include "support.h"

namespace longspan::nn {
namespace {

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
  refused(Pattern::causal_self, small_lavo({{"history_attention", "block_bidirectional"}}),
          "lavo: history_attention = block_bidirectional needs memory_update = window in the pattern causal_self, got "
          "token: tokens would see the rest of their window");
  refused(Pattern::causal_self, small_lavo({{"score_constant", 2.0}}),
          "lavo: score_constant has no use without score_scale = constant, got 2.0");
  refused(Pattern::causal_self, small_lavo({{"basis_penalty", 1.0}}),
          "lavo: basis_penalty has no use without basis_mode = soft, got 1.0");
  refused(Pattern::causal_self, {{"memory_proj", "values"}},
          "lavo: memory_proj must be one of value, key, own, input_slice, got values");
  expect_input_error(
      [] {
        make("lavo", Pattern::causal_cross, {{"r", int64_t{4}}, {"memory_proj", "input_slice"}},
             {.width = 16, .heads = 2, .source_width = 12});
      },
      "lavo: memory_proj = input_slice needs a source as wide as the model, 16, got 12");
}

// An option that another makes idle is refused, unless it is at its default.
TEST(LavoOptions, RefusesWhatAnotherMakesIdle) {
  const auto refused = [](Pattern pattern, FieldValues options, const std::string& text) {
    expect_input_error([&] { make("lavo", pattern, options, kSizes); }, text);
  };
  const Pattern self = Pattern::causal_self;
  refused(self, {{"r", int64_t{4}}, {"combine", "local"}}, "lavo: r has no use with combine = local, got 4");
  refused(self, {{"combine", "local"}, {"slot_dropout", 0.1}},
          "lavo: slot_dropout has no use with combine = local, got 0.1");
  refused(self, {{"combine", "local"}, {"basis_mode", "free"}},
          "lavo: basis_mode has no use with combine = local, got free");
  refused(self, small_lavo({{"memory_input", "raw"}, {"history_attention", "block_causal"}}),
          "lavo: history_attention has no use with memory_input = raw, got block_causal");
  refused(self, small_lavo({{"empty_memory", "local_only"}}),
          "lavo: empty_memory has no use with memory_update = token, got local_only");
  refused(self, small_lavo({{"epe", false}, {"epe_init", "zero"}}),
          "lavo: epe_init has no use with epe = false, got zero");
  refused(self, small_lavo({{"epe", false}, {"epe_sharing", "shared_heads"}}),
          "lavo: epe_sharing has no use with epe = false, got shared_heads");
  for (const Pattern pattern : {self, Pattern::noncausal_self}) {
    const auto memory_alone = [](FieldValues options) {
      options.insert({{"r", int64_t{4}}, {"combine", "global"}, {"memory_input", "raw"}});
      return options;
    };
    const std::string with = " has no use with combine = global and memory_input = raw";
    refused(pattern, memory_alone({{"epe", false}}), "lavo: epe" + with + ", got false");
    refused(pattern, memory_alone({{"dropout", 0.2}}), "lavo: dropout" + with + ", got 0.2");
    refused(pattern, memory_alone({{"w", int64_t{3}}}), "lavo: w" + with + " and memory_update = token, got 3");
  }
  // What has a use after all: windows of the memory, and the local branch in the first of them.
  make("lavo", self, small_lavo({{"combine", "global"}, {"memory_input", "raw"}, {"memory_update", "window"}}), kSizes);
  make("lavo", self,
       small_lavo({{"combine", "global"},
                   {"memory_input", "raw"},
                   {"memory_update", "window"},
                   {"empty_memory", "local_only"},
                   {"dropout", 0.2}}),
       kSizes);
  make("lavo", self, {{"combine", "local"}, {"r", FieldValue{}}, {"basis_gain", 1.0}}, kSizes);
  expect_input_error(
      [] {
        make("local", Pattern::causal_self, {{"table_start", "zero"}});
      },
      "local: table_start has no use with positions = none, got zero");
  expect_input_error(
      [] {
        make("softmax", Pattern::causal_self, {{"rope_base", 100.0}});
      },
      "softmax: rope_base has no use with rope = false, got 100.0");
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
  const auto self = [&](const FieldValues& options) { return names(Pattern::causal_self, small_lavo(options)); };
  EXPECT_EQ(self({}), "q k v out ");
  EXPECT_EQ(self({{"memory_proj", "key"}}), "q k v out ");
  EXPECT_EQ(self({{"memory_proj", "own"}}), "q k v memory out ");
  EXPECT_EQ(self({{"memory_proj", "input_slice"}}), "q k v out ");
  EXPECT_EQ(self({{"combine", "global"}}), "q k v out ") << "aggregated by local attention";
  EXPECT_EQ(self({{"combine", "global"}, {"memory_input", "raw"}}), "q v out ");
  EXPECT_EQ(self({{"combine", "global"}, {"memory_input", "raw"}, {"memory_proj", "own"}}), "q memory out ");
  EXPECT_EQ(self({{"combine", "local"}}), "q k v out ");
  const auto cross = [&](const char* projection) {
    return names(Pattern::causal_cross, {{"r", int64_t{4}}, {"memory_proj", projection}});
  };
  EXPECT_EQ(cross("value"), "q v out ");
  EXPECT_EQ(cross("key"), "q k out ");
  EXPECT_EQ(cross("own"), "q memory out ");
  EXPECT_EQ(cross("input_slice"), "q out ");
}

// The full form reads a mean, which knows no order; the causal one does.
TEST(LavoOptions, TheOrderOfASourceDoesNotMatter) {
  const auto module = make("lavo", Pattern::noncausal_cross, {{"r", int64_t{4}}}, kSizes);
  const at::Tensor x = normal({2, 5, 16}, 1), source = normal({2, 9, 16}, 2);
  const at::Tensor y = module->forward(x, {.source = source});
  EXPECT_TRUE(close(module->forward(x, {.source = source.flip(1)}), y, layer_bound(*module, x, 9)));
  const auto causal =
      make("lavo", Pattern::causal_self, small_lavo({{"combine", "global"}, {"memory_input", "raw"}}), kSizes);
  const at::Tensor z = causal->forward(source), flipped = causal->forward(source.flip(1)).flip(1);
  EXPECT_GT((z - flipped).abs().max().item<double>(), 1e-3);
}

// With w = 1 a window is a token: what t reads is what t - 1 reads with memory_update = token.
TEST(LavoOptions, AWindowOfOneIsATokenLate) {
  FieldValues options = {{"r", int64_t{4}}, {"combine", "global"}, {"memory_input", "raw"}};
  const auto token = make("lavo", Pattern::causal_self, options, kSizes);
  options["memory_update"] = std::string("window");
  options["w"] = int64_t{1};
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
  const auto local = make("lavo", Pattern::causal_self, small_lavo({{"combine", "local"}}), kSizes);
  const auto empty = [&](const char* way, const char* combine) {
    return make("lavo", Pattern::causal_self,
                small_lavo({{"memory_update", "window"}, {"empty_memory", way}, {"combine", combine}}), kSizes);
  };
  const at::Tensor first = run(*local).narrow(2, 0, 3);
  EXPECT_TRUE(run(*empty("zero", "mean")).narrow(2, 0, 3).equal(first / 2));
  EXPECT_TRUE(run(*empty("local_only", "mean")).narrow(2, 0, 3).equal(first));
  EXPECT_TRUE(run(*empty("local_only", "global")).narrow(2, 0, 3).equal(first));
  EXPECT_TRUE(run(*empty("local_only", "mean")).narrow(2, 3, 8).equal(run(*empty("zero", "mean")).narrow(2, 3, 8)));
}

TEST(LavoOptions, ScoreScalesAreFactorsOfTheScores) {
  const auto scaled = [](const FieldValues& options) {
    return make("lavo", Pattern::causal_self, small_lavo(options), kSizes);
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
  const FieldValues options = small_lavo({{"dropout", 0.5}, {"slot_dropout", 0.4}});
  const auto dropped = make("lavo", Pattern::causal_self, options, kSizes);
  const auto plain = make("lavo", Pattern::causal_self, small_lavo(), kSizes);
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
  const auto single =
      make("lavo", Pattern::causal_self, {{"w", int64_t{1}}, {"combine", "local"}, {"dropout", 0.5}}, kSizes);
  single->train();
  const at::Tensor v = normal({2, 2, 200, 8}, 3);
  const at::Tensor factor = single->attend(v, v, v).detach() / v;
  EXPECT_TRUE(factor.eq(0).logical_or(factor.eq(2)).all().item<bool>());
  // 800 fair draws: a mean outside 1 +- 0.25 is seven deviations away.
  EXPECT_NEAR(factor.mean().item<double>(), 1, 0.25);
}

}  // namespace
}  // namespace longspan::nn
