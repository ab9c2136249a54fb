// LAVO in all its options, against the definition.
#include "longspan/nn/lavo.h"
#include "support.h"

namespace longspan::nn {
namespace {

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
at::Tensor by_definition(Attention& module, const std::map<std::string, at::Tensor>& seen, const at::Tensor& x,
                         int64_t w) {
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
    EXPECT_TRUE(close(y, by_definition(*attention, attention->inspect(x, source), x, window()),
                      layer_bound(*attention, x, length)));
  }
}

TEST_P(Variants, AreSeenInPiecesAsInTheWhole) {
  if (GetParam().pattern != Pattern::causal_self) return;
  const auto attention = module();
  const at::NoGradGuard no_grad;
  const int64_t length = 23;
  const at::Tensor x = normal({2, length, 16}, 1), y = attention->forward(x);
  for (const int64_t steps : {1, 2}) {
    const auto inspection = attention->begin_inspection();
    const int64_t rows = steps * inspection->step();
    std::map<std::string, std::vector<at::Tensor>> pieces;
    for (int64_t at = 0; at < length; at += rows)
      for (const auto& [name, tensor] : inspection->look(x.narrow(1, at, std::min(rows, length - at))))
        pieces[name].push_back(tensor);
    std::map<std::string, at::Tensor> seen;
    for (const auto& [name, list] : pieces) seen[name] = list[0].dim() == 4 ? at::cat(list, 2) : list[0];
    EXPECT_TRUE(close(y, by_definition(*attention, seen, x, window()), layer_bound(*attention, x, length)));
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

// Along a random direction of everything that has a gradient.
TEST_P(Variants, GradientsAreThoseOfFiniteDifferences) {
  const auto attention = module();
  if (attention->properties().float32_sums) return;  // differences of 1e-6 drown in float32
  const int64_t length = 11;
  std::vector<at::Tensor> leaves = {normal({2, length, 16}, 1).requires_grad_()};
  if (is_cross(GetParam().pattern)) leaves.push_back(normal({2, 7, 16}, 2).requires_grad_());
  for (const auto& parameter : attention->parameters()) leaves.push_back(parameter);
  const at::Tensor weight = normal({2, length, 16}, 3);
  const auto value = [&] {
    AttentionInputs inputs;
    if (is_cross(GetParam().pattern)) inputs.source = leaves[1];
    return (attention->forward(leaves[0], inputs) * weight).sum();
  };
  value().backward();
  std::vector<at::Tensor> directions;
  double slope = 0;
  for (const at::Tensor& leaf : leaves) {
    directions.push_back(normal(leaf.sizes(), 20 + directions.size()));
    if (leaf.grad().defined()) slope += (leaf.grad() * directions.back()).sum().item<double>();
  }
  const auto at_distance = [&](double step) {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].add_(directions[i], step);
    const double out = value().item<double>();
    for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].sub_(directions[i], step);
    return out;
  };
  const double step = 1e-6;  // errs by its square times the third derivative, and by roundoff of the value over it
  EXPECT_NEAR((at_distance(step) - at_distance(-step)) / (2 * step), slope, 1e-6 * std::max(1.0, std::abs(slope)));
}

// Weights, inputs and the output are rounded to bfloat16; features, memory and F are not.
TEST(LavoBfloat16, StaysCloseToFloat64) {
  for (const FieldValues& options :
       {small_lavo(), small_lavo({{"memory_proj", "own"}}),
        small_lavo({{"memory_input", "raw"}, {"score_scale", "learned"}}),
        small_lavo({{"memory_update", "window"}, {"history_attention", "block_bidirectional"}})}) {
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
