// Isolation: a sequence does not see its batch-mates.
#include <limits>
#include <utility>
#include <vector>

#include "longspan/testing/properties/probe.h"

namespace longspan::testing {
namespace {

/// The first row is not a number, so that scratch which keeps something of it meets the later ones.
void check_beside_nan(Probe& probe, Verdict& verdict, const at::Tensor& x, const nn::AttentionInputs& inputs,
                      const at::Tensor& given_weight) {
  auto& module = probe.module();
  const int64_t others = x.size(0) - 1;
  auto spoiled = x.clone(), weight = given_weight.clone();
  spoiled[0].fill_(std::numeric_limits<double>::quiet_NaN());
  weight[0].zero_();
  const auto healthy = run(probe, x, inputs, weight);
  const auto beside = run(probe, spoiled, inputs, weight);
  verdict.same_bits("beside a mate of NaN", beside.y.narrow(0, 1, others), healthy.y.narrow(0, 1, others));
  verdict.same_bits("beside a mate of NaN, gradient", beside.dx.narrow(0, 1, others), healthy.dx.narrow(0, 1, others));

  if (!probe.causal()) return;
  const auto stream = [&](const at::Tensor& tokens) {
    const auto leaf = tokens.detach().requires_grad_();
    auto state = module.begin(tokens.size(0));
    const int64_t cut = tokens.size(1) / 2;
    const auto y = at::cat(
        {module.extend(state, leaf.narrow(1, 0, cut)), module.extend(state, leaf.narrow(1, cut, tokens.size(1) - cut))},
        1);
    y.backward(weight);
    module.zero_grad();
    return std::pair(y.detach().narrow(0, 1, others), leaf.grad().narrow(0, 1, others));
  };
  const auto [expected, expected_gradient] = stream(x);
  const auto [actual, gradient] = stream(spoiled);
  verdict.same_bits("streams beside a mate of NaN", actual, expected);
  verdict.same_bits("streams beside a mate of NaN, gradient", gradient, expected_gradient);
}

}  // namespace

void check_isolation(Probe& probe, Verdict& verdict) {
  auto& module = probe.module();
  const auto x = probe.tokens();
  const auto weight = probe.random(x.sizes());
  const int64_t batch = x.size(0), n = x.size(1);
  nn::AttentionInputs inputs;
  if (probe.cross()) inputs.source = probe.source();
  const auto together = run(probe, x, inputs, weight);

  std::vector<int64_t> borders = {0}, source_borders = {0};
  std::vector<at::Tensor> rows, weights, sources, outputs, gradients, source_gradients;
  for (int64_t b = 0; b < batch; ++b) {
    // Lengths differ in the pack: cut each sequence a little shorter than the one before.
    const int64_t length = n - std::min<int64_t>(3 * b, n);
    nn::AttentionInputs alone_inputs;
    if (probe.cross()) alone_inputs.source = inputs.source->narrow(0, b, 1);
    const auto alone = run(probe, x.narrow(0, b, 1), alone_inputs, weight.narrow(0, b, 1));
    const std::string which = "sequence " + std::to_string(b);
    verdict.close(which + " alone and in the batch", together.y.narrow(0, b, 1), alone.y, module);
    verdict.close(which + " alone and in the batch, gradient", together.dx.narrow(0, b, 1), alone.dx, module);
    if (probe.cross())
      verdict.close(which + " alone and in the batch, source gradient", together.dsource.narrow(0, b, 1), alone.dsource,
                    module);

    const auto cut =
        run(probe, x.narrow(0, b, 1).narrow(1, 0, length), alone_inputs, weight.narrow(0, b, 1).narrow(1, 0, length));
    rows.push_back(x[b].narrow(0, 0, length));
    weights.push_back(weight[b].narrow(0, 0, length));
    outputs.push_back(cut.y[0]);
    gradients.push_back(cut.dx[0]);
    borders.push_back(borders.back() + length);
    if (probe.cross()) {
      sources.push_back((*inputs.source)[b]);
      source_gradients.push_back(cut.dsource[0]);
      source_borders.push_back(source_borders.back() + inputs.source->size(1));
    }
  }

  nn::AttentionInputs pack;
  pack.cu_seqlens = at::tensor(borders, at::kLong);
  if (probe.cross()) {
    pack.source = at::cat(sources).unsqueeze(0);
    pack.source_cu_seqlens = at::tensor(source_borders, at::kLong);
  }
  const auto packed = run(probe, at::cat(rows).unsqueeze(0), pack, at::cat(weights).unsqueeze(0));
  verdict.close("alone and in a pack", packed.y[0], at::cat(outputs), module);
  verdict.close("alone and in a pack, gradient", packed.dx[0], at::cat(gradients), module);
  if (probe.cross())
    verdict.close("alone and in a pack, source gradient", packed.dsource[0], at::cat(source_gradients), module);

  if (batch > 1) check_beside_nan(probe, verdict, x, inputs, weight);

  if (!module.properties().bitwise || probe.cross()) return;
  const int64_t heads = module.sizes().heads, width = module.sizes().head_width();
  const auto q = probe.random({batch, heads, n, width}), k = probe.random(q.sizes()), v = probe.random(q.sizes());
  at::NoGradGuard no_grad;
  const auto all = module.attend(q, k, v);
  for (int64_t b = 0; b < batch; ++b)
    verdict.same_bits("the operator on one sequence alone",
                      module.attend(q.narrow(0, b, 1), k.narrow(0, b, 1), v.narrow(0, b, 1)), all.narrow(0, b, 1));
  if (probe.causal())
    verdict.same_bits("the operator on a shorter input",
                      module.attend(q.narrow(2, 0, n / 2), k.narrow(2, 0, n / 2), v.narrow(2, 0, n / 2)),
                      all.narrow(2, 0, n / 2));
}

}  // namespace longspan::testing
