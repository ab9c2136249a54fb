// Streaming: any cutting into extend() calls equals forward().
#include <vector>

#include "longspan/testing/properties/probe.h"

namespace longspan::testing {
namespace {

using Cuts = std::vector<int64_t>;  // lengths of the calls

Cuts token_by_token(int64_t n) { return Cuts(static_cast<size_t>(n), 1); }

std::vector<std::pair<std::string, Cuts>> cuttings(int64_t n) {
  // One token at a time for all of a long stream would only take time: the calls' borders are what matters.
  const int64_t steps = std::min<int64_t>(n / 2, 20);
  std::vector<std::pair<std::string, Cuts>> out = {{"one call", {n}}, {"empty calls", {0, n / 3, 0, n - n / 3, 0}}};
  Cuts parallel_first = token_by_token(steps), steps_first = token_by_token(steps),
       thirds = {n / 3, n / 2 - n / 3, n - n / 2};
  parallel_first.insert(parallel_first.begin(), n - steps);
  steps_first.push_back(n - steps);
  out.emplace_back("parallel, then token by token", parallel_first);
  out.emplace_back("token by token, then parallel", steps_first);
  out.emplace_back("three calls", thirds);
  return out;
}

nn::State fresh(Probe& probe, const at::Tensor& source) {
  return probe.cross() ? probe.module().begin(source) : probe.module().begin(probe.options().batch);
}

}  // namespace

void check_split(Probe& probe, Verdict& verdict) {
  if (probe.pattern() == nn::Pattern::noncausal_self) return verdict.not_applicable();
  auto& module = probe.module();
  const auto x = probe.tokens();
  const auto weight = probe.random(x.sizes());
  nn::AttentionInputs inputs;
  at::Tensor source;
  if (probe.cross()) inputs.source = source = probe.source();
  const auto whole = run(probe, x, inputs, weight);

  for (const auto& [name, cuts] : cuttings(x.size(1))) {
    module.zero_grad();
    const auto leaf = x.detach().requires_grad_();
    const auto source_leaf = source.defined() ? source.detach().requires_grad_() : at::Tensor();
    auto state = fresh(probe, source_leaf);
    std::vector<at::Tensor> outputs;
    int64_t begin = 0;
    for (const int64_t length : cuts) {
      outputs.push_back(module.extend(state, leaf.narrow(1, begin, length)));
      begin += length;
    }
    auto y = at::cat(outputs, 1);
    y.backward(weight);
    Outcome outcome{y.detach(), leaf.grad(), source_leaf.defined() ? source_leaf.grad() : at::Tensor(), {}};
    for (auto& parameter : module.named_parameters())
      if (parameter.value().grad().defined()) outcome.dparameters[parameter.key()] = parameter.value().grad().clone();
    module.zero_grad();
    verdict.close(name, outcome, whole, module);
  }
}

}  // namespace longspan::testing
