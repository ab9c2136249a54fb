// extend() over any cutting of streams equals forward() over the whole, also when the streams differ in length.
#include <torch/csrc/autograd/autograd.h>

#include "support.h"

namespace longspan::nn {
namespace {

struct Case {
  std::string name;
  FieldValues options;
  std::string title() const {
    std::string out = name + " {";
    for (const auto& [field, value] : options) out += " " + field + "=" + longspan::to_string(value);
    return out + " }";
  }
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.title(); }
};

std::vector<Case> cases(Pattern pattern) {
  std::vector<Case> out;
  for (const auto& entry : attentions())
    for (const auto& options : harness_configurations(entry, pattern)) out.push_back({entry.name, options});
  return out;
}

class Streams : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Nn, Streams, ::testing::ValuesIn(cases(Pattern::causal_self)));

/// Gradients of sum(y * weight) for x and every trained parameter.
std::vector<at::Tensor> gradients(Attention& module, const at::Tensor& y, const at::Tensor& x,
                                  const at::Tensor& weight) {
  std::vector<at::Tensor> inputs = {x};
  for (const auto& parameter : module.parameters()) inputs.push_back(parameter);
  auto out = torch::autograd::grad({(y * weight).sum()}, inputs, {}, std::nullopt, false, true);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!out[i].defined()) out[i] = at::zeros_like(inputs[i]);
  return out;
}

TEST_P(Streams, RaggedPiecesEqualTheWhole) {
  SCOPED_TRACE(GetParam().title());
  const auto module = make(GetParam().name, Pattern::causal_self, GetParam().options);
  const int64_t length = 30;
  const at::Tensor x = normal({3, length, 16}, 1).requires_grad_(), weight = normal({3, length, 16}, 2);
  at::Tensor valid = at::ones({3, length}, at::kBool);
  valid[0].narrow(0, 0, 7).fill_(false);  // the first piece holds nothing of stream 0
  valid[1].narrow(0, 2, 3).fill_(false);
  valid[2].narrow(0, 25, 5).fill_(false);
  const at::Tensor whole = module->forward(x, {.valid = valid});

  State state = module->begin(3);
  std::vector<at::Tensor> parts;
  int64_t at = 0;
  for (const int64_t piece : {7, 9, 1, 1, 0, 7, 5}) {  // ragged, then even lengths on uneven streams, then ragged
    const at::Tensor mask = valid.narrow(1, at, piece);
    const bool full = mask.all().item<bool>();
    parts.push_back(module->extend(state, x.narrow(1, at, piece), full ? std::nullopt : std::optional(mask)));
    at += piece;
  }
  ASSERT_EQ(at, length);
  EXPECT_TRUE(state.at("count").equal(valid.sum(1)));
  const at::Tensor y = at::cat(parts, 1);
  const double bound = layer_bound(*module, x, length);
  EXPECT_TRUE(close(y, whole, bound));

  // A gradient is a sum over 3 * 30 rows of products with terms as large as the outputs' bound allows.
  const auto got = gradients(*module, y, x, weight), expected = gradients(*module, whole, x, weight);
  const double most =
      static_cast<double>(3 * length) * weight.abs().max().item<double>() * x.abs().max().item<double>();
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(close(got[i], expected[i], most * bound)) << "gradient " << i;
}

TEST_P(Streams, ACopyIsAFork) {
  SCOPED_TRACE(GetParam().title());
  const auto module = make(GetParam().name, Pattern::causal_self, GetParam().options);
  const at::Tensor x = normal({2, 12, 16}, 3);
  at::NoGradGuard no_grad;
  State state = module->begin(2);
  module->extend(state, x.narrow(1, 0, 6));
  const State copy = state, clone = state.clone();
  const at::Tensor first = module->extend(state, x.narrow(1, 6, 6));
  for (const auto& [name, tensor] : clone.tensors()) EXPECT_TRUE(copy.at(name).equal(tensor)) << name;
  State again = copy;
  EXPECT_TRUE(module->extend(again, x.narrow(1, 6, 6)).equal(first));
  // The second stream alone.
  State second = copy.select(at::tensor({1}, at::kLong));
  EXPECT_TRUE(close(module->extend(second, x.narrow(0, 1, 1).narrow(1, 6, 6)), first.narrow(0, 1, 1),
                    layer_bound(*module, x, 12)));
}

TEST_P(Streams, GradientsOfStreamsAreIsolated) {
  SCOPED_TRACE(GetParam().title());
  const auto module = make(GetParam().name, Pattern::causal_self, GetParam().options);
  const at::Tensor clean = normal({2, 20, 16}, 8), weight = normal({2, 20, 16}, 9);
  at::Tensor dirty = clean.clone();
  dirty[0].fill_(std::numeric_limits<double>::quiet_NaN());
  const auto run = [&](const at::Tensor& values, const at::Tensor& w) {
    const at::Tensor x = values.clone().requires_grad_();
    State state = module->begin(x.size(0));
    const at::Tensor y =
        at::cat({module->extend(state, x.narrow(1, 0, 12)), module->extend(state, x.narrow(1, 12, 8))}, 1);
    return torch::autograd::grad({(y * w).sum()}, {x})[0];
  };
  const at::Tensor together = run(dirty, weight)[1], alone = run(clean.narrow(0, 1, 1), weight.narrow(0, 1, 1))[0];
  // As in RaggedPiecesEqualTheWhole, with the rows of one stream.
  const double most = 20 * weight.abs().max().item<double>() * std::max(1.0, clean.abs().max().item<double>());
  EXPECT_TRUE(close(together, alone, most * layer_bound(*module, clean, 20)));
}

class CrossStreams : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Nn, CrossStreams, ::testing::ValuesIn(cases(Pattern::causal_cross)));

TEST_P(CrossStreams, ReadsTheSourceInPieces) {
  SCOPED_TRACE(GetParam().title());
  const auto module = make(GetParam().name, Pattern::causal_cross, GetParam().options);
  const at::Tensor x = normal({2, 9, 16}, 1).requires_grad_(), source = normal({2, 11, 16}, 2),
                   weight = normal({2, 9, 16}, 3);
  at::Tensor valid = at::ones({2, 9}, at::kBool), source_valid = at::ones({2, 11}, at::kBool);
  valid[0][1] = false;
  source_valid[1].narrow(0, 0, 4).fill_(false);
  const at::Tensor whole = module->forward(x, {.source = source, .valid = valid, .source_valid = source_valid});
  State state = module->begin(source, source_valid);
  const at::Tensor y = at::cat(
      {module->extend(state, x.narrow(1, 0, 4), valid.narrow(1, 0, 4)), module->extend(state, x.narrow(1, 4, 5))}, 1);
  const double bound = layer_bound(*module, x, 11);
  EXPECT_TRUE(close(y, whole, bound));
  const auto got = gradients(*module, y, x, weight), expected = gradients(*module, whole, x, weight);
  const double most = 2 * 9 * weight.abs().max().item<double>() * x.abs().max().item<double>();
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(close(got[i], expected[i], most * bound)) << "gradient " << i;
}

}  // namespace
}  // namespace longspan::nn
