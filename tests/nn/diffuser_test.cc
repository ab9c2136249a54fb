// Diffuser: golden values, what its options promise, patterns of padded and marked texts, error texts.
#include "longspan/nn/diffuser.h"

#include <torch/csrc/autograd/autograd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "longspan/patterns/build.h"
#include "support.h"

namespace longspan::nn {
namespace {

/// A file of pairs that goes with the test.
class EdgeFile {
 public:
  explicit EdgeFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / str_cat("longspan-edges-", ::getpid(), ".txt")) {
    std::ofstream(path_) << text;
  }
  ~EdgeFile() { std::filesystem::remove(path_); }
  FieldValue path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Golden G3: |i - j| <= 1, token 4 global, and the pair (0, 5).
TEST(Diffuser, GivesTheGoldenValues) {
  const EdgeFile file("0 5\n");
  const FieldValues pattern = {{"pattern", "window_band+global+edges"},
                               {"k", number(1)},
                               {"global_choice", "list"},
                               {"global_tokens", "4"},
                               {"edges", file.path()}};
  const auto heads = [](const at::Tensor& rows) { return rows.view({1, 1, 6, 2}); };
  const at::Tensor q = heads(waves(6, 2, 0.7, 1.3, 0.5)), k = heads(waves(6, 2, 0.3, -0.8, 0.2)),
                   v = heads(waves(6, 2, 1.1, 0.6, -0.4));
  const auto got = [&](FieldValues options) {
    options.insert(pattern.begin(), pattern.end());
    const auto module = make("diffuser", Pattern::noncausal_self, options, {.width = 2, .heads = 1});
    EXPECT_EQ(module->cost(6, 6).flops, 23 * 2 * 2 * (1.0 + std::get<int64_t>(options["hops"])));
    return module->attend(q, k, v);
  };
  const auto expected = [&](std::initializer_list<double> values) {
    return heads(at::tensor(values, float64()).view({6, 2}));
  };
  const double printed = 0.5e-10 + 1e-14;  // ten digits
  EXPECT_TRUE(close(got({{"hops", number(3)}, {"alpha", 0.15}}),
                    expected({-.3136248827, -.1750787204, .0512140105, .0755412828, .2086336224, .0669962084,
                              .1140279360, -.1129727358, -.1869014451, -.2255432623, -.4372279809, -.3529859177}),
                    printed));
  EXPECT_TRUE(close(got({{"hops", number(5)}}),
                    expected({-.2273297387, -.1531869607, .0036792859, .0080836552, .0978113014, -.0046630271,
                              .0360472219, -.1193049399, -.1540063054, -.1933920528, -.3060602743, -.2662450573}),
                    printed));
  EXPECT_TRUE(close(got({{"hops", number(5)}, {"diffusion", "heat"}}),
                    expected({-.3064524668, -.2207500323, -.0043027110, -.0081335650, .1186516649, -.0062244114,
                              .0957204033, -.0901222705, -.1239320335, -.1411958744, -.3815566957, -.3307634861}),
                    printed));
}

/// sum_k polynomial_k A^k V, from what inspect() shows.
at::Tensor by_definition(Attention& module, const at::Tensor& x) {
  const auto shown = module.inspect(x);
  const at::Tensor &a = shown.at("weights"), &polynomial = shown.at("polynomial");
  const auto parameters = module.named_parameters();
  const int64_t heads = module.sizes().heads;
  at::Tensor z =
      (at::matmul(x, parameters["v.weight"].t()) + parameters["v.bias"]).unflatten(2, {heads, -1}).transpose(1, 2);
  at::Tensor sum = at::zeros_like(z);
  for (int64_t k = 0; k < polynomial.size(1); ++k) {
    sum = sum + polynomial.select(1, k).view({-1, 1, 1}) * z;
    z = at::matmul(a, z);
  }
  return at::matmul(sum.transpose(1, 2).flatten(2), parameters["out.weight"].t()) + parameters["out.bias"];
}

TEST(Diffuser, IsThePolynomialOfItsWeights) {
  for (const Pattern pattern : {Pattern::noncausal_self, Pattern::causal_self})
    for (const FieldValues& options : harness_configurations(find_attention("diffuser"), pattern)) {
      SCOPED_TRACE(to_string(pattern) + " " +
                   longspan::to_string(options.contains("pattern") ? options.at("pattern") : ""));
      const auto module = make("diffuser", pattern, options);
      const at::NoGradGuard no_grad;
      const at::Tensor x = normal({2, 30, 16}, 1);
      EXPECT_TRUE(close(module->forward(x), by_definition(*module, x), layer_bound(*module, x, 7 * 30)));
      const auto shown = module->inspect(x);
      // A row sums to 1, a row without keys to 0.
      const at::Tensor sums = shown.at("weights").sum(-1);
      EXPECT_LE((sums * (1 - sums)).abs().max().item<double>(), 1e-14);
      const double theta = shown.at("polynomial").sum(1).sub(1).abs().max().item<double>();
      EXPECT_LE(theta, 1e-14);
      at::Tensor value =
          at::matmul(x, module->named_parameters()["v.weight"].t()) + module->named_parameters()["v.bias"];
      value = value.unflatten(2, {-1, 16 / module->sizes().heads}).transpose(1, 2);
      EXPECT_TRUE(
          close(shown.at("values"), value, testing::sum_bound<double>(16) * 16 * value.abs().max().item<double>()));
    }
}

TEST(Diffuser, TrainsOnAPatternThatAnEvaluationMade) {
  for (const Pattern pattern : {Pattern::noncausal_self, Pattern::causal_self}) {
    const auto module = make("diffuser", pattern, {{"pattern_seed", number(41)}});
    const at::Tensor x = normal({1, 30, 16}, 1);
    {
      const c10::InferenceMode inference;
      module->forward(x);
    }
    module->forward(x).sum().backward();
    EXPECT_TRUE(module->parameters().front().grad().defined());
  }
}

TEST(Diffuser, OnAllPairsInOneHopIsSoftmax) {
  for (const Pattern pattern : {Pattern::noncausal_self, Pattern::causal_self}) {
    const auto ours = make("diffuser", pattern, {{"pattern", "full"}, {"diffusion", "single"}});
    const auto softmax = make("softmax", pattern);
    const at::Tensor x = normal({2, 21, 16}, 1);
    EXPECT_TRUE(close(ours->forward(x), softmax->forward(x), layer_bound(*ours, x, 21)));
  }
}

TEST(Diffuser, TrainedHopsStartAtThePaper) {
  const at::Tensor x = normal({1, 12, 16}, 1);
  const FieldValues alpha = {{"alpha", 0.2}, {"hops", number(3)}};
  const auto with = [&](FieldValues options) {
    options.insert(alpha.begin(), alpha.end());
    return make("diffuser", Pattern::noncausal_self, options);
  };
  const auto fixed = with({}), learned = with({{"diffusion", "learned"}}), alphas = with({{"learn_alpha", true}});
  const at::Tensor expected = fixed->forward(x);
  // Parameters are made in float32 and widened.
  const double bound = layer_bound(*fixed, x, 12) +
                       16 * 0x1p-24 * growth(*fixed, "v") * growth(*fixed, "out") * x.abs().max().item<double>() * 4;
  EXPECT_TRUE(close(learned->forward(x), expected, bound));
  EXPECT_TRUE(close(alphas->forward(x), expected, bound));
  for (const auto& [module, name, count] :
       {std::tuple{learned, "hop_logits", int64_t{2 * 4}}, {alphas, "alpha_logit", int64_t{2}}}) {
    const at::Tensor parameter = module->named_parameters()[name];
    EXPECT_EQ(parameter.numel(), count);
    const at::Tensor gradient = torch::autograd::grad({module->forward(x).square().sum()}, {parameter})[0];
    EXPECT_GT(gradient.abs().min().item<double>(), 0) << name;
  }
  // Whatever a step does, alpha stays between 0 and 1: so weights of hops are never negative and sum to 1.
  {
    const at::NoGradGuard no_grad;
    alphas->named_parameters()["alpha_logit"].copy_(at::tensor({-30.0, 30.0}, at::kDouble));
  }
  const at::Tensor polynomial = alphas->inspect(x).at("polynomial");
  EXPECT_GE(polynomial.min().item<double>(), 0);
  EXPECT_LE(polynomial.sum(1).sub(1).abs().max().item<double>(), 1e-14);
}

TEST(Diffuser, NoHopsAreTheValues) {
  const auto module = make("diffuser", Pattern::noncausal_self, {{"hops", number(0)}});
  const at::Tensor q = normal({2, 2, 9, 8}, 1), v = normal({2, 2, 9, 8}, 2);
  EXPECT_TRUE(module->attend(q, q, v).equal(v));
}

TEST(Diffuser, LayersShareAPatternUnlessEachHasItsOwn) {
  const FieldValues pattern = {{"pattern", "random"}, {"r", number(3)}};
  const auto weights = [&](FieldValues options, int64_t layer) {
    options.insert(pattern.begin(), pattern.end());
    const auto module = make("diffuser", Pattern::noncausal_self, options, {.width = 16, .heads = 2, .layer = layer});
    return module->inspect(normal({1, 40, 16}, 1)).at("weights");
  };
  EXPECT_TRUE(weights({}, 0).equal(weights({}, 3)));
  const FieldValues own = {{"seed_per_layer", true}}, seed = {{"pattern_seed", number(1)}};
  EXPECT_TRUE(weights(own, 0).equal(weights({}, 0)));
  EXPECT_FALSE(weights(own, 0).equal(weights(own, 3)));
  EXPECT_FALSE(weights(seed, 0).equal(weights({}, 0)));
}

// A text of its own length has the first tokens of the pattern of the length that is a multiple of w.
TEST(Diffuser, PadsTheTextToWholeWindows) {
  const FieldValues options = {
      {"pattern", "window_overlap+global"}, {"w", number(4)}, {"g", number(3)}, {"pad_to_window", true}};
  const auto module = make("diffuser", Pattern::noncausal_self, options);
  const at::Tensor weights = module->inspect(normal({1, 37, 16}, 1)).at("weights");
  FieldValues generator = options;
  generator.erase("pattern");
  const auto padded = patterns::build_pattern(patterns::pattern_options("window_overlap+global", generator), 37);
  ASSERT_EQ(padded.size(), 40);
  for (int64_t i = 0; i < 37; ++i)
    for (int64_t j = 0; j < 37; ++j)
      EXPECT_EQ(weights[0][0][i][j].item<double>() > 0, padded.contains(i, j)) << i << " " << j;
}

// Two tokens, padding, one token; neighbours see each other.
TEST(Diffuser, PaddingIsOutOfThePatternOrOutOfTheText) {
  const at::Tensor x = normal({1, 5, 16}, 1);
  const at::Tensor valid = at::tensor({1, 1, 0, 0, 1}, at::kInt).to(at::kBool).unsqueeze(0);
  const auto with = [&](const std::string& padding) {
    return make("diffuser", Pattern::noncausal_self,
                {{"pattern", "window_band"}, {"k", number(1)}, {"padding", padding}});
  };
  const auto packed = with("packed");
  const at::Tensor three = packed->forward(x.index_select(1, at::tensor({0, 1, 4})));
  const double bound = layer_bound(*packed, x, 5);
  EXPECT_TRUE(close(packed->forward(x, {.valid = valid}).index_select(1, at::tensor({0, 1, 4})), three, bound));
  const at::Tensor front = packed->forward(x.narrow(1, 0, 2)), back = packed->forward(x.narrow(1, 4, 1));
  EXPECT_FALSE(close(back, three.narrow(1, 2, 1), 1e-3)) << "packed, the last token sees the second";
  for (const std::string padding : {"remove", "reference"}) {
    const at::Tensor y = with(padding)->forward(x, {.valid = valid});
    EXPECT_TRUE(close(y.narrow(1, 0, 2), front, bound)) << padding;
    EXPECT_TRUE(close(y.narrow(1, 4, 1), back, bound)) << padding;
    EXPECT_EQ(y.narrow(1, 2, 2).abs().max().item<double>(), 0);
  }
}

TEST(Diffuser, TakesGlobalTokensOfEachText) {
  const FieldValues window = {{"pattern", "window_band+global"}, {"k", number(1)}, {"g", number(2)}};
  const auto module = make("diffuser", Pattern::noncausal_self, window);
  const auto listed = [&](const std::string& tokens) {
    FieldValues options = window;
    options["global_choice"] = "list";
    options["global_tokens"] = tokens;
    return make("diffuser", Pattern::noncausal_self, options);
  };
  EXPECT_TRUE(module->properties().global_tokens);
  const at::Tensor x = normal({3, 20, 16}, 1), global = at::zeros({3, 20}, at::kBool);
  global[0][3] = global[0][15] = global[1][0] = true;
  const double bound = layer_bound(*module, x, 20);
  const at::Tensor y = module->forward(x, {.global_tokens = global});
  EXPECT_TRUE(close(y.narrow(0, 0, 1), listed("3,15")->forward(x.narrow(0, 0, 1)), bound));
  EXPECT_TRUE(close(y.narrow(0, 1, 1), listed("0")->forward(x.narrow(0, 1, 1)), bound));
  EXPECT_TRUE(close(y.narrow(0, 2, 1),
                    make("diffuser", Pattern::noncausal_self, {{"pattern", "window_band"}, {"k", number(1)}})
                        ->forward(x.narrow(0, 2, 1)),
                    bound));
  // Padded: token 3 becomes the second one, a global token that is padding is none.
  at::Tensor valid = at::ones({3, 20}, at::kBool);
  valid[0].narrow(0, 0, 2).fill_(false);
  valid[0][15] = false;
  const at::Tensor padded = module->forward(x, {.valid = valid, .global_tokens = global});
  const at::Tensor left = at::cat({x[0].narrow(0, 2, 13), x[0].narrow(0, 16, 4)}).unsqueeze(0);
  EXPECT_TRUE(
      close(padded[0].masked_select(valid[0].unsqueeze(-1)).view({1, 17, 16}), listed("1")->forward(left), bound));
  // A pack.
  const at::Tensor pack = module->forward(
      x.reshape({1, 60, 16}), {.cu_seqlens = at::tensor({0, 20, 40, 60}), .global_tokens = global.view({1, 60})});
  EXPECT_TRUE(close(pack.view({3, 20, 16}), y, bound));

  const at::Tensor one = x.narrow(0, 0, 1), marked = global.narrow(0, 0, 1);
  for (const auto& [name, pattern] :
       {std::pair{"softmax", Pattern::noncausal_self}, {"diffuser", Pattern::causal_self}})
    expect_input_error(
        [&, name = name, pattern = pattern] { make(name, pattern)->forward(one, {.global_tokens = marked}); },
        str_cat(name, ": global_tokens has no use in this attention, got some"));
  expect_input_error([&] { module->forward(x, {.global_tokens = marked}); },
                     "diffuser: global_tokens must be bool [3, 20], got Bool [1, 20]");
}

TEST(Diffuser, AblationsChangeOnePart) {
  const at::Tensor x = normal({1, 40, 16}, 1);
  const FieldValues options = {
      {"pattern", "window_overlap+global+random"}, {"w", number(4)}, {"g", number(2)}, {"r", number(2)}};
  const auto module = make("diffuser", Pattern::noncausal_self, options);
  const at::Tensor whole = module->forward(x);
  const auto with = [&](FieldValues other) { return make("diffuser", Pattern::noncausal_self, other)->forward(x); };
  const double bound = layer_bound(*module, x, 40);
  module->ablate("diffusion", "single");
  FieldValues single = options;
  single["diffusion"] = "single";
  EXPECT_TRUE(close(module->forward(x), with(single), bound));
  module->ablate("diffusion", "none");
  module->ablate("random", "off");
  EXPECT_TRUE(close(module->forward(x),
                    with({{"pattern", "window_overlap+global"}, {"w", number(4)}, {"g", number(2)}}), bound));
  module->ablate("global", "off");
  EXPECT_TRUE(close(module->forward(x), with({{"pattern", "window_overlap"}, {"w", number(4)}}), bound));
  expect_input_error(
      [&] { module->ablate("local", "off"); },
      "diffuser: the ablation local=off would leave nothing of the pattern window_overlap+global+random");
  module->ablate("global", "none");
  module->ablate("random", "none");
  EXPECT_TRUE(module->forward(x).equal(whole));
  module->ablate("head", "0");
  EXPECT_FALSE(close(module->forward(x), whole, 1e-3));
  module->ablate("head", "none");
  EXPECT_TRUE(module->forward(x).equal(whole));
  expect_input_error(
      [] {
        make("diffuser", Pattern::noncausal_self, {{"pattern", "full"}, {"diffusion", "single"}})
            ->ablate("local", "off");
      },
      "diffuser: ablation must be one of head=none, head=0, head=1, got local=off");
}

/// Where the weights of a head are.
at::Tensor pairs_of(Attention& module, const at::Tensor& x) { return module.inspect(x).at("weights")[0][0] > 0; }

// What is left after an ablation is what was there: random keys are those that were trained with.
TEST(Diffuser, AblationsDrawNothingAnew) {
  const int64_t n = 60;
  const at::Tensor x = normal({1, n, 16}, 1);
  for (const Pattern use : {Pattern::noncausal_self, Pattern::causal_self}) {
    const FieldValues options = {{"w", number(8)}, {"g", number(3)}, {"r", number(2)}, {"max_len", number(60)}};
    const auto module = make("diffuser", use, options);
    const at::Tensor whole = pairs_of(*module, x);
    FieldValues structure = options;
    structure["pattern"] = "window_overlap+global";
    structure.erase("r");
    const at::Tensor dense = pairs_of(*make("diffuser", use, structure), x);
    const at::Tensor random = whole & dense.logical_not();
    ASSERT_GT(random.sum().item<int64_t>(), 90);
    for (const char* part : {"local", "global"}) {
      module->ablate(part, "off");
      const at::Tensor left = pairs_of(*module, x);
      EXPECT_TRUE((left & random).equal(random)) << part;
      EXPECT_FALSE((left & whole.logical_not()).any().item<bool>()) << part;
      EXPECT_FALSE(left.equal(whole)) << part;
      if (use == Pattern::causal_self) {
        const at::NoGradGuard no_grad;
        State state = module->begin(1);
        std::vector<at::Tensor> outputs;
        for (int64_t t = 0; t < n; t += 5) outputs.push_back(module->extend(state, x.narrow(1, t, 5)));
        EXPECT_TRUE(close(at::cat(outputs, 1), module->forward(x), layer_bound(*module, x, n))) << part;
      }
      module->ablate(part, "none");
    }
    EXPECT_TRUE(pairs_of(*module, x).equal(whole));
  }
}

TEST(Diffuser, KeepsThePairsOfItsFile) {
  const at::Tensor x = normal({1, 9, 16}, 1);
  const auto file = std::make_unique<EdgeFile>("0 5\n7 2\n3 8\n");
  const auto module = make("diffuser", Pattern::noncausal_self, {{"pattern", "edges"}, {"edges", file->path()}});
  const auto path = std::get<std::string>(file->path());
  std::filesystem::remove(path);
  const FieldValues saved = module->options();
  EXPECT_EQ(saved.at("edges"), FieldValue("weights:9:3"));
  const at::Tensor output = module->forward(x);
  EXPECT_EQ(module->named_buffers()["given_edge_keys"].scalar_type(), at::kInt)
      << "numbers of tokens, whatever to() says";

  FieldValues given;
  for (const auto& [name, value] : saved)
    if (value != FieldValue()) given[name] = value;
  const auto again = make("diffuser", Pattern::noncausal_self, given);
  expect_input_error([&] { again->forward(x); },
                     "diffuser: edges = weights:9:3 are those of a saved model, whose weights must be read first");
  for (const auto& item : module->named_buffers()) again->named_buffers()[item.key()].copy_(item.value());
  EXPECT_TRUE(again->forward(x).equal(output));
  again->named_buffers()["given_edge_keys"].fill_(9);
  EXPECT_THROW(again->forward(x), InputError) << "a token that there is not";
  for (const char* bad : {"weights:9", "weights:-1:3", "weights:9:3x", "weights:"})
    EXPECT_THROW(make("diffuser", Pattern::noncausal_self, {{"pattern", "edges"}, {"edges", bad}}), InputError) << bad;
}

// One bound for all that share a memory, and what nobody needs any more goes.
TEST(Diffuser, PatternsOfAllLayersShareOneMemory) {
  const patterns::PatternOptions options = patterns::pattern_options("random", {{"r", number(8)}});
  const auto patterns_of = [&](int64_t layer, const std::shared_ptr<PatternMemory>& memory) {
    return std::make_shared<DiffuserPatterns>(options, std::vector<patterns::Generator>{}, 0, layer, std::nullopt,
                                              memory);
  };
  const auto wide = std::make_shared<PatternMemory>(int64_t{1} << 40, 0);
  const auto first = patterns_of(0, wide);
  const at::Tensor one = first->of_length(500).tensor;
  const auto size = static_cast<int64_t>(one.nbytes());
  EXPECT_EQ(wide->bytes(), size);
  patterns_of(1, wide)->of_length(500);
  EXPECT_EQ(wide->bytes(), size) << "a layer that is gone keeps nothing";

  const auto narrow = std::make_shared<PatternMemory>(2 * size + size / 2, 0);
  std::vector<std::shared_ptr<DiffuserPatterns>> layers;
  for (int64_t layer = 0; layer < 5; ++layer) layers.push_back(patterns_of(layer, narrow));
  for (const auto& layer : layers) {
    layer->of_length(500);
    EXPECT_LE(narrow->bytes(), 2 * size + size / 2);
  }
  EXPECT_GT(narrow->bytes(), size) << "two fit";
  EXPECT_TRUE(layers[0]->of_length(500).tensor.equal(one)) << "made again";
  EXPECT_EQ(layers[0]->of_length(500).tensor.const_data_ptr(), layers[0]->of_length(500).tensor.const_data_ptr());

  const int64_t before = PatternMemory::of_process()->bytes();
  {
    const FieldValues own = {{"pattern", "random"}, {"r", number(8)}, {"seed_per_layer", true}};
    std::vector<AttentionPtr> modules;
    for (int64_t layer = 0; layer < 2; ++layer)
      modules.push_back(make("diffuser", Pattern::noncausal_self, own, {.width = 16, .heads = 2, .layer = layer}));
    for (const auto& module : modules) module->forward(normal({1, 500, 16}, 1));
    EXPECT_EQ(PatternMemory::of_process()->bytes(), before + 2 * size);
  }
  EXPECT_EQ(PatternMemory::of_process()->bytes(), before);
}

TEST(Diffuser, PresetsAndDefaultsOfAPattern) {
  const auto reference = make("diffuser", Pattern::noncausal_self, {{"pattern", "reference"}});
  const FieldValues saved = reference->options();
  EXPECT_EQ(saved.at("pattern"), FieldValue("window_overlap+global+random"));
  EXPECT_EQ(saved.at("fit"), FieldValue("cut"));
  EXPECT_EQ(saved.at("random_mode"), FieldValue("total"));
  EXPECT_EQ(reference->properties().max_length, 4096);
  const auto longformer = make("diffuser", Pattern::noncausal_self, {{"pattern", "longformer"}});
  EXPECT_EQ(longformer->options().at("w"), number(512));
  EXPECT_EQ(longformer->options().at("r"), FieldValue()) << "a window draws nothing";
}

TEST(Diffuser, RefusesWhatDoesNotGoTogether) {
  const auto refuses = [](const FieldValues& options, const std::string& text,
                          Pattern pattern = Pattern::noncausal_self) {
    expect_input_error([&] { make("diffuser", pattern, options); }, text);
  };
  refuses({{"hop", number(3)}}, "diffuser: unknown field 'hop'; did you mean 'hops'?");
  refuses({{"hops", number(-1)}}, "diffuser: hops must be an integer from 0 to 256, got -1");
  refuses({{"alpha", 1.5}}, "diffuser: alpha must be a number from 0 to 1, got 1.5");
  refuses({{"pattern", "nothing_like_it"}},
          "diffuser: pattern: unknown pattern 'nothing_like_it'; known: reference table_s1 window_overlap "
          "window_band window_block global random uniform bigbird longformer strided fixed full edges");
  refuses(
      {{"pattern", "window_band"}, {"r", number(3)}},
      "diffuser: pattern: window_band does not use r; its fields: k, self_loops, causal, fit, max_len, pad_to_window");
  EXPECT_THROW(make("diffuser", Pattern::causal_self, {{"causal", true}}), InputError) << "the attention says it";
  refuses({{"diffusion", "single"}, {"hops", number(3)}}, "diffuser: hops has no use with diffusion = single, got 3");
  refuses({{"diffusion", "heat"}, {"alpha", 0.2}}, "diffuser: alpha has no use with diffusion = heat, got 0.2");
  refuses({{"t", 2.0}}, "diffuser: t has no use without diffusion = heat, got 2.0");
  refuses({{"dropout_mode", "per_hop"}}, "diffuser: dropout_mode has no use with attn_dropout = 0.0, got per_hop");
  refuses({{"empty_row", "error"}}, "diffuser: empty_row has no use with self_loops = true, got error");
  refuses({{"learn_alpha", true}, {"alpha", 1.0}},
          "diffuser: alpha must lie between 0 and 1 where it is trained, got 1");
  refuses({{"diffusion", "learned"}, {"alpha", 0.0}},
          "diffuser: alpha must lie between 0 and 1 where trained weights start at it, got 0");
  refuses({{"pattern", "edges"}}, "diffuser: the pattern edges needs edges, a file of pairs");
  refuses({{"edges", "pairs.txt"}},
          "diffuser: edges has no use in the pattern window_overlap+global+random, got pairs.txt");
  refuses({{"padding", "remove"}}, "diffuser: padding has no use in the pattern causal_self, got remove",
          Pattern::causal_self);
  refuses({},
          "diffuser: the pattern causal_cross is not supported; methods that have it: lavo, lavo_selective, softmax",
          Pattern::causal_cross);

  const at::Tensor x = normal({1, 9, 16}, 1);
  expect_input_error(
      [&] {
        make("diffuser", Pattern::causal_self,
             {{"pattern", "random"}, {"r", number(2)}, {"self_loops", false}, {"empty_row", "error"}})
            ->forward(x);
      },
      "diffuser: empty_row = error and token 0 has no key in the pattern random; self_loops = true gives every token "
      "itself");
  expect_input_error(
      [&] {
        make("diffuser", Pattern::noncausal_self, {{"fit", "cut"}, {"max_len", number(8)}})->forward(x);
      },
      "pattern: fit=cut has max_len = 8, too short for 9 tokens");
}

}  // namespace
}  // namespace longspan::nn
