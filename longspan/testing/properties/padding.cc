// Padding: a padded batch is by definition its packed batch.
#include <limits>
#include <vector>

#include "longspan/testing/properties/probe.h"

namespace longspan::testing {
namespace {

/// `real` [B, n, E] spread over the true places of `mask` [B, N] (n in each row); the rest holds NaN and infinity.
at::Tensor spread(const at::Tensor& real, const at::Tensor& mask) {
  auto out = at::empty({mask.size(0), mask.size(1), real.size(2)}, real.options());
  out.fill_(std::numeric_limits<double>::quiet_NaN());
  out.narrow(2, 0, out.size(2) / 2).fill_(std::numeric_limits<double>::infinity());
  out.masked_scatter_(mask.unsqueeze(-1), real);
  return out;
}

at::Tensor real_rows(const at::Tensor& padded, const at::Tensor& mask) {
  return padded.masked_select(mask.unsqueeze(-1)).view({padded.size(0), -1, padded.size(2)});
}

/// Masks with `n` true places in rows of `n + extra`: left, right and scattered padding.
std::vector<std::pair<std::string, at::Tensor>> masks(int64_t batch, int64_t n, int64_t extra) {
  const auto options = at::TensorOptions().dtype(at::kBool);
  auto left = at::zeros({batch, n + extra}, options), right = left.clone(), inner = left.clone();
  left.narrow(1, extra, n).fill_(true);
  right.narrow(1, 0, n).fill_(true);
  for (int64_t b = 0; b < batch; ++b) {
    inner[b].fill_(true);
    for (int64_t e = 0; e < extra; ++e) inner[b][((b + 2) + e * (n + extra) / extra) % (n + extra)] = false;
  }
  return {{"left", left}, {"right", right}, {"inner", inner}};
}

/// Rows of different lengths, one of them empty; and nothing at all. `expected`: of x without a mask.
void check_empty_rows(Probe& probe, Verdict& verdict, const at::Tensor& x, const nn::AttentionInputs& bare,
                      const at::Tensor& expected) {
  auto& module = probe.module();
  at::NoGradGuard no_grad;
  auto ragged = at::ones({x.size(0), x.size(1)}, at::TensorOptions().dtype(at::kBool));
  ragged[0].fill_(false);
  nn::AttentionInputs inputs = bare;
  inputs.valid = ragged;
  const auto y = module.forward(spread(x.masked_select(ragged.unsqueeze(-1)).view({1, -1, x.size(2)}), ragged), inputs);
  verdict.zero("a row of padding alone", y[0]);
  verdict.close("beside a row of padding alone", y.narrow(0, 1, y.size(0) - 1), expected.narrow(0, 1, y.size(0) - 1),
                module);

  inputs = bare;
  const auto none = module.forward(x.narrow(1, 0, 0), inputs);
  if (none.sizes() != x.narrow(1, 0, 0).sizes()) verdict.fail("N = 0: wrong shape of the output");
  if (probe.cross()) {
    inputs.source_valid = at::zeros({x.size(0), bare.source->size(1)}, ragged.options());
    // Nothing to attend to gives zeros before the output projection, the same for every query.
    const auto nothing = module.forward(x, inputs);
    verdict.same_bits("a source of padding alone", nothing, nothing[0][0].expand_as(nothing).contiguous());
    if (!nothing.isfinite().all().item<bool>()) verdict.fail("a source of padding alone: output is not finite");
  }
}

/// A self-attention that reads the mask itself: what stands at invalid places does not matter, and nothing comes out
/// there.
void check_masked(Probe& probe, Verdict& verdict) {
  const auto x = probe.tokens();
  const auto weight = probe.random(x.sizes());
  for (const auto& [name, mask] : masks(x.size(0), x.size(1), 5)) {
    nn::AttentionInputs inputs;
    inputs.valid = mask;
    const auto invalid = mask.unsqueeze(-1).logical_not();
    const auto padded = spread(x, mask), weights = spread(weight, mask);
    const auto actual = run(probe, padded, inputs, weights);
    const auto other = run(probe, padded.masked_fill(invalid, 7), inputs, weights.masked_fill(invalid, -3));
    verdict.zero(name + ", output at invalid places", actual.y.masked_select(invalid));
    verdict.zero(name + ", gradient at invalid places", actual.dx.masked_select(invalid));
    verdict.same_bits(name + ", other padding", other.y, actual.y);
    verdict.same_bits(name + ", other padding, gradient", other.dx, actual.dx);
    for (const auto& [parameter, gradient] : actual.dparameters)
      verdict.same_bits(name + ", other padding, gradient of " + parameter, other.dparameters.at(parameter), gradient);
  }
  check_empty_rows(probe, verdict, x, {}, run(probe, x, {}, weight).y);
}

}  // namespace

void check_padding(Probe& probe, Verdict& verdict) {
  auto& module = probe.module();
  if (!module.properties().packs_padding) return check_masked(probe, verdict);
  const auto x = probe.tokens();
  const auto weight = probe.random(x.sizes());
  nn::AttentionInputs bare;
  if (probe.cross()) bare.source = probe.source();
  const auto expected = run(probe, x, bare, weight);
  const int64_t extra = 5;
  const auto source_masks = masks(probe.options().batch, probe.options().source_length, extra);

  size_t which = 0;
  for (const auto& [name, mask] : masks(x.size(0), x.size(1), extra)) {
    nn::AttentionInputs inputs;
    inputs.valid = mask;
    const auto& source_mask = source_masks[++which % source_masks.size()].second;
    if (probe.cross()) {
      inputs.source = spread(*bare.source, source_mask);
      inputs.source_valid = source_mask;
    }
    auto actual = run(probe, spread(x, mask), inputs, spread(weight, mask));
    verdict.zero(name + ", output at invalid places", actual.y.masked_select(mask.unsqueeze(-1).logical_not()));
    verdict.zero(name + ", gradient at invalid places", actual.dx.masked_select(mask.unsqueeze(-1).logical_not()));
    actual.y = real_rows(actual.y, mask);
    actual.dx = real_rows(actual.dx, mask);
    if (probe.cross()) {
      verdict.zero(name + ", source gradient at invalid places",
                   actual.dsource.masked_select(source_mask.unsqueeze(-1).logical_not()));
      actual.dsource = real_rows(actual.dsource, source_mask);
    }
    verdict.close(name, actual, expected, module);

    if (probe.causal()) {  // the same padding in a stream
      at::NoGradGuard no_grad;
      auto state = module.begin(x.size(0));
      const auto padded = spread(x, mask);
      const int64_t cut = padded.size(1) / 3;
      const auto head = module.extend(state, padded.narrow(1, 0, cut), mask.narrow(1, 0, cut));
      const auto tail =
          module.extend(state, padded.narrow(1, cut, padded.size(1) - cut), mask.narrow(1, cut, mask.size(1) - cut));
      const auto y = at::cat({head, tail}, 1);
      verdict.zero(name + " in a stream, output at invalid places", y.masked_select(mask.unsqueeze(-1).logical_not()));
      verdict.close(name + " in a stream", real_rows(y, mask), expected.y, module);
    }
  }
  check_empty_rows(probe, verdict, x, bare, expected.y);
}

}  // namespace longspan::testing
