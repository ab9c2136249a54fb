// What the base class writes once for every method: checks, padding, packs.
#include <ATen/autocast_mode.h>

#include <limits>

#include "support.h"

namespace longspan::nn {
namespace {

class EveryMethod : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Attention, EveryMethod,
                         ::testing::Values("lavo", "lavo_selective", "diffuser", "delta_net", "gated_delta_net", "gla",
                                           "local", "softmax"));

FieldValues small(const std::string& name) {
  if (name == "lavo" || name == "lavo_selective") return {{"r", int64_t{4}}, {"w", int64_t{3}}};
  if (name == "local") return {{"w", int64_t{3}}};
  if (name == "diffuser")
    return {{"pattern", "window_band+global+random"}, {"k", int64_t{1}}, {"g", int64_t{1}}, {"r", int64_t{1}}};
  if (name == "softmax") return {{"rope", true}};
  return {};
}

bool has(const std::string& name, Pattern pattern) {
  const auto& patterns = find_attention(name).patterns;
  return std::find(patterns.begin(), patterns.end(), pattern) != patterns.end();
}

/// valid [3, 7]: one row with gaps, one empty, one full.
at::Tensor ragged_mask() {
  at::Tensor valid = at::ones({3, 7}, at::kBool);
  valid[0][0] = false;
  valid[0][3] = false;
  valid[0][6] = false;
  valid[1].fill_(false);
  return valid;
}

TEST_P(EveryMethod, PaddingIsItsPack) {
  for (const Pattern pattern : {Pattern::causal_self, Pattern::noncausal_self}) {
    if (!has(GetParam(), pattern)) continue;
    const auto module = make(GetParam(), pattern, small(GetParam()));
    const at::Tensor valid = ragged_mask(), clean = normal({3, 7, 16}, 1);
    const at::Tensor x =
        at::where(valid.unsqueeze(-1), clean, at::full({}, std::numeric_limits<double>::quiet_NaN(), float64()))
            .requires_grad_();
    const at::Tensor y = module->forward(x, {.valid = valid});
    const double bound = layer_bound(*module, clean, 7);
    const at::Tensor first = at::tensor({1, 2, 4, 5}, at::kLong);
    EXPECT_TRUE(
        close(y[0].index_select(0, first), module->forward(clean.narrow(0, 0, 1).index_select(1, first))[0], bound));
    EXPECT_TRUE(close(y[2], module->forward(clean.narrow(0, 2, 1))[0], bound));
    EXPECT_TRUE(y.masked_select(~valid.unsqueeze(-1)).eq(0).all().item<bool>());

    // Incoming gradients at invalid places are not read either.
    const at::Tensor incoming = at::where(valid.unsqueeze(-1), at::ones_like(clean),
                                          at::full({}, std::numeric_limits<double>::quiet_NaN(), float64()));
    y.backward(incoming);
    EXPECT_TRUE(x.grad().masked_select(~valid.unsqueeze(-1)).eq(0).all().item<bool>());
    EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
    for (const auto& parameter : module->named_parameters())
      if (parameter.value().grad().defined()) {
        EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << parameter.key();
      }
  }
}

TEST_P(EveryMethod, ReadsAPack) {
  const auto module = make(GetParam(), Pattern::causal_self, small(GetParam()));
  const at::Tensor x = normal({1, 9, 16}, 2);
  const at::Tensor y = module->forward(x, {.cu_seqlens = at::tensor({0, 4, 4, 9}, at::kInt)});
  const double bound = layer_bound(*module, x, 9);
  EXPECT_TRUE(close(y.narrow(1, 0, 4), module->forward(x.narrow(1, 0, 4)), bound));
  EXPECT_TRUE(close(y.narrow(1, 4, 5), module->forward(x.narrow(1, 4, 5)), bound));
}

TEST_P(EveryMethod, AcceptsNothing) {
  const auto module = make(GetParam(), Pattern::causal_self, small(GetParam()));
  for (const auto& sizes : {std::array<int64_t, 3>{2, 0, 16}, {0, 5, 16}, {2, 5, 16}}) {
    const at::Tensor x = at::full(sizes, 1.0, float64()).requires_grad_();
    const at::Tensor y = module->forward(x, {.valid = at::zeros({sizes[0], sizes[1]}, at::kBool)});
    EXPECT_EQ(y.sizes(), x.sizes());
    EXPECT_TRUE(y.eq(0).all().item<bool>());
    y.sum().backward();
    EXPECT_TRUE(x.grad().eq(0).all().item<bool>());
    EXPECT_EQ(module->forward(x).sizes(), x.sizes());
  }
}

struct Bfloat16Autocast {
  Bfloat16Autocast() {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
  }
  ~Bfloat16Autocast() {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
  }
};

TEST_P(EveryMethod, RunsUnderAutocast) {
  const auto module = make(GetParam(), Pattern::causal_self, small(GetParam()));
  module->to(torch::kFloat);
  const at::Tensor x = normal({2, 9, 16}, 7).to(at::kFloat).requires_grad_();
  State state = module->begin(2);
  at::Tensor whole, pieces;
  {
    const Bfloat16Autocast autocast;
    whole = module->forward(x);
    pieces = at::cat({module->extend(state, x.narrow(1, 0, 4)), module->extend(state, x.narrow(1, 4, 5))}, 1);
  }
  EXPECT_EQ(whole.scalar_type(), at::kBFloat16);
  if (state.contains("keys")) {
    EXPECT_EQ(state.at("keys").scalar_type(), at::kBFloat16) << "keys are kept as they were computed";
  }
  if (state.contains("closed")) {
    EXPECT_EQ(state.at("closed").scalar_type(), at::kDouble);
  }
  if (state.contains("memory")) {
    EXPECT_EQ(state.at("memory").scalar_type(), at::kFloat);
  }
  (whole.sum() + pieces.sum()).backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
  // Both ways round the projected q, k, v and F to bfloat16 alike; F, a mean of values, errs by its own two roundings
  // (and softmax's probabilities by one), which the output projection passes on, and rounds its sums of 16 terms.
  const double u = std::ldexp(1.0, -8);
  const double most = whole.detach().abs().max().to(at::kFloat).item<double>() +
                      growth(*module, "out") * growth(*module, "v") * x.abs().max().item<double>();
  EXPECT_TRUE(close(pieces, whole, 4 * u * most));
}

TEST(Attention, CrossReadsValidSourcesOnly) {
  for (const std::string name : {"lavo", "lavo_selective", "softmax"}) {
    const FieldValues options = name == "softmax" ? FieldValues{} : FieldValues{{"r", int64_t{4}}};
    const auto module = make(name, Pattern::noncausal_cross, options, {.width = 16, .heads = 2, .source_width = 12});
    const at::Tensor x = normal({2, 5, 16}, 3), source = normal({2, 6, 12}, 4);
    at::Tensor valid = at::ones({2, 6}, at::kBool);
    valid[0].narrow(0, 2, 2).fill_(false);
    valid[1].fill_(false);
    const at::Tensor dirty = at::where(valid.unsqueeze(-1), source, at::full({}, INFINITY, float64()));
    const at::Tensor y = module->forward(x, {.source = dirty, .source_valid = valid});
    const at::Tensor kept = source.narrow(0, 0, 1).index_select(1, at::tensor({0, 1, 4, 5}, at::kLong));
    const double bound = layer_bound(*module, x, 6);
    EXPECT_TRUE(close(y.narrow(0, 0, 1), module->forward(x.narrow(0, 0, 1), {.source = kept}), bound));
    EXPECT_TRUE(y[1].eq(0).all().item<bool>()) << "a query without sources";  // biases are 0 at the start

    State state = module->begin(dirty, valid);
    EXPECT_TRUE(close(module->extend(state, x), y, bound));
  }
}

TEST(Attention, NamesWhatIsWrong) {
  const auto self = make("softmax", Pattern::causal_self);
  const auto cross = make("softmax", Pattern::causal_cross);
  const auto whole = make("softmax", Pattern::noncausal_self);
  const at::Tensor x = normal({2, 3, 16}, 6), one = normal({1, 3, 16}, 6);
  const at::Tensor valid = at::ones({2, 3}, at::kBool);
  expect_input_error(
      [&] {
        self->forward(normal({2, 3, 8}, 6));
      },
      "softmax: x must be [batch, length, 16], got [2, 3, 8]");
  expect_input_error([&] { self->forward(x.to(at::kFloat)); },
                     "softmax: x must have the dtype of the weights, Double, got Float");
  expect_input_error([&] { self->forward(x, {.valid = valid.to(at::kLong)}); },
                     "softmax: valid must be bool [2, 3], got Long [2, 3]");
  expect_input_error([&] { self->forward(x, {.valid = valid.narrow(1, 0, 2)}); },
                     "softmax: valid must be bool [2, 3], got Bool [2, 2]");
  expect_input_error(
      [&] {
        self->forward(one, {.valid = valid.narrow(0, 0, 1), .cu_seqlens = at::tensor({0, 3}, at::kLong)});
      },
      "softmax: valid and cu_seqlens cannot both be given: a pack has no padding");
  expect_input_error([&] { self->forward(x, {.source = x}); },
                     "softmax: source has no use in the pattern causal_self, got one");
  expect_input_error(
      [&] {
        self->forward(x, {.cu_seqlens = at::tensor({0, 3}, at::kLong)});
      },
      "softmax: cu_seqlens needs a batch of 1 (the sequences lie on one row axis), got 2");
  expect_input_error(
      [&] {
        self->forward(one, {.cu_seqlens = at::tensor({0, 2, 1, 3}, at::kLong)});
      },
      "softmax: cu_seqlens must start at 0 and never fall, got 1 at index 2");
  expect_input_error(
      [&] {
        self->forward(one, {.cu_seqlens = at::tensor({0, 2}, at::kLong)});
      },
      "softmax: cu_seqlens must end at the number of rows, 3, got 2");
  expect_input_error([&] { cross->forward(x); }, "softmax: source must be given in the pattern causal_cross, got none");
  expect_input_error([&] { cross->forward(x, {.source = one}); }, "softmax: source must have the batch of x, 2, got 1");
  expect_input_error(
      [&] { cross->begin(2); },
      "softmax: begin(batch) needs the pattern causal_self, got causal_cross (a cross pattern begins with its source)");
  expect_input_error([&] { self->begin(x); }, "softmax: begin(source) needs a cross pattern, got causal_self");
  State state = self->begin(1), empty;
  expect_input_error([&] { self->extend(state, x); }, "softmax: state must have the batch of x, 2, got 1");
  expect_input_error([&] { self->extend(empty, x); }, "softmax: state is empty; begin() makes one");
  expect_input_error([&] { whole->extend(state, one); },
                     "softmax: extend needs a causal_self or cross pattern, got noncausal_self");
  expect_input_error([&] { self->ablate("memory", "zero"); }, "softmax: nothing can be ablated, got memory=zero");
  expect_input_error([] { make("softmax", Pattern::causal_self, {}, {.width = 10, .heads = 3}); },
                     "softmax: width must be a multiple of heads, got 10 and 3");
  expect_input_error([] { pattern_from_string("causal"); },
                     "pattern must be one of noncausal_self, causal_self, noncausal_cross, causal_cross, got causal");
}

// A state of another module, or one that was tampered with.
TEST(Attention, RefusesForeignStates) {
  const auto lavo = make("lavo", Pattern::causal_self, {{"r", int64_t{4}}, {"w", int64_t{3}}});
  const auto wider = make("lavo", Pattern::causal_self, {{"r", int64_t{4}}, {"w", int64_t{5}}});
  const auto more = make("lavo", Pattern::causal_self, {{"r", int64_t{5}}, {"w", int64_t{3}}});
  const auto local = make("local", Pattern::causal_self, {{"w", int64_t{3}}});
  const auto softmax = make("softmax", Pattern::causal_self);
  const at::Tensor x = normal({2, 3, 16}, 6);
  const auto refused = [&](Attention& module, State state, const std::string& text) {
    expect_input_error([&] { module.extend(state, x); }, text);
  };
  const auto with = [](State state, const std::string& name, const at::Tensor& tensor) {
    state.set(name, tensor);
    return state;
  };
  refused(*lavo, softmax->begin(2), "lavo: state must hold closed, count, keys, open, values, got count, keys, values");
  refused(*softmax, lavo->begin(2),
          "softmax: state must hold count, keys, values, got closed, count, keys, open, values");
  refused(*lavo, wider->begin(2), "lavo: state tensor keys must be [batch, 2, 2, 8], got [2, 2, 4, 8]");
  refused(*lavo, more->begin(2), "lavo: state tensor closed must be [batch, 2, 4], got [2, 2, 5]");
  refused(*local, softmax->begin(2), "local: state tensor keys must be [batch, 2, 2, 8], got [2, 2, 0, 8]");
  refused(*softmax, make("softmax", Pattern::causal_self, {}, {.width = 16, .heads = 4})->begin(2),
          "softmax: state tensor keys must be [batch, 2, any, 8], got [2, 4, 0, 4]");
  refused(*lavo, with(lavo->begin(2), "closed", at::zeros({2, 2, 4}, at::kFloat)),
          "lavo: state tensor closed must be Double, got Float");
  refused(*lavo, with(lavo->begin(2), "keys", at::zeros({2, 2, 2, 8}, at::kLong)),
          "lavo: state tensor keys must be of a floating dtype, got Long");
  refused(*lavo, with(lavo->begin(2), "values", at::Tensor()),
          "lavo: state tensor values must be defined, got an undefined one");
  refused(*lavo, with(lavo->begin(2), "open", at::zeros({1, 2, 4}, at::kDouble)),
          "lavo: state tensor open must have the batch of the others, 2, got 1");
  refused(*lavo, with(lavo->begin(2), "open", at::zeros({2, 2, 4}, float64().device(at::kMeta))),
          "lavo: state tensor open must be on cpu, got meta");
  refused(*lavo, with(lavo->begin(2), "count", at::tensor({3, -1}, at::kLong)),
          "lavo: state tensor count must be at least 0, got -1");
  refused(*softmax, with(softmax->begin(2), "count", at::tensor({0, 4}, at::kLong)),
          "softmax: state tensor count must be at most 0, the rows of keys, got 4");

  const auto cross = make("lavo", Pattern::causal_cross, {{"r", int64_t{4}}});
  refused(*cross, softmax->begin(2), "lavo: state must hold count, features, got count, keys, values");
}

}  // namespace
}  // namespace longspan::nn
