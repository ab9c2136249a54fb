// Causality: the past does not depend on the future.
#include <limits>

#include "longspan/testing/properties/probe.h"

namespace longspan::testing {
namespace {

void check_causal_self(Probe& probe, Verdict& verdict) {
  auto& module = probe.module();
  const auto x = probe.tokens();
  const auto weight = probe.random(x.sizes());
  const int64_t n = x.size(1);
  const auto whole = run(probe, x, {}, weight);

  for (const int64_t t : {int64_t{1}, n / 2, n - 1}) {
    if (t < 1 || t >= n) continue;
    const std::string at = " at " + std::to_string(t);
    // Same shape, another future: not one bit of the past may change, nor its gradient when only the past is asked for.
    auto other = x.clone();
    other.narrow(1, t, n - t).copy_(probe.random({x.size(0), n - t, x.size(2)}));
    auto past_weight = weight.clone();
    past_weight.narrow(1, t, n - t).zero_();
    const auto first = run(probe, x, {}, past_weight);
    const auto second = run(probe, other, {}, past_weight);
    verdict.same_bits("another future" + at, second.y.narrow(1, 0, t), first.y.narrow(1, 0, t));
    verdict.same_bits("another future" + at + ", gradient", second.dx.narrow(1, 0, t), first.dx.narrow(1, 0, t));
    verdict.zero("gradient of the future" + at, first.dx.narrow(1, t, n - t));

    // A future that is not a number. Library kernels multiply masked probabilities of 0 by whatever value stands there,
    // so they are only held to finite ones.
    const bool own = module.properties().bitwise;
    other.narrow(1, t, n - t).fill_(own ? std::numeric_limits<double>::quiet_NaN() : 1e3);
    {
      at::NoGradGuard no_grad;
      verdict.same_bits(std::string(own ? "a future of NaN" : "a future of 1000") + at,
                        module.forward(other).narrow(1, 0, t), whole.y.narrow(1, 0, t));
    }

    // The short input alone.
    if (module.properties().length_free) {
      const auto alone = run(probe, x.narrow(1, 0, t), {}, weight.narrow(1, 0, t));
      verdict.close("the first tokens alone" + at, alone.y, whole.y.narrow(1, 0, t), module);
      verdict.close("the first tokens alone" + at + ", gradient", alone.dx, first.dx.narrow(1, 0, t), module);
    }
  }
}

void check_causal_cross(Probe& probe, Verdict& verdict) {
  const auto x = probe.tokens();
  const auto source = probe.source();
  const int64_t n = x.size(1);
  auto other = x.clone();
  const int64_t t = n / 2;
  other.narrow(1, t, 1).fill_(std::numeric_limits<double>::quiet_NaN());
  at::NoGradGuard no_grad;
  nn::AttentionInputs inputs;
  inputs.source = source;
  const auto y = probe.module().forward(x, inputs);
  const auto changed = probe.module().forward(other, inputs);
  verdict.same_bits("before another query", changed.narrow(1, 0, t), y.narrow(1, 0, t));
  verdict.same_bits("behind another query", changed.narrow(1, t + 1, n - t - 1), y.narrow(1, t + 1, n - t - 1));
}

}  // namespace

void check_prefix(Probe& probe, Verdict& verdict) {
  if (probe.causal() && probe.module().properties().causal_exact) return check_causal_self(probe, verdict);
  if (probe.pattern() == nn::Pattern::causal_cross) return check_causal_cross(probe, verdict);
  verdict.not_applicable();
}

}  // namespace longspan::testing
