// The state is a value.
#include "longspan/testing/properties/probe.h"

namespace longspan::testing {

void check_state(Probe& probe, Verdict& verdict) {
  if (probe.pattern() == nn::Pattern::noncausal_self) return verdict.not_applicable();
  auto& module = probe.module();
  at::NoGradGuard no_grad;
  const auto x = probe.tokens();
  const int64_t batch = x.size(0), n = x.size(1), cut = n / 2;
  auto state = probe.cross() ? module.begin(probe.source()) : module.begin(batch);
  module.extend(state, x.narrow(1, 0, cut));
  if (state.batch() != batch) verdict.fail("batch() is " + std::to_string(state.batch()));

  // A copy shares storage but stays what it was.
  const nn::State copy = state;
  const nn::State deep = state.clone();
  const auto rest = x.narrow(1, cut, n - cut);
  const auto expected = module.extend(state, rest);
  for (const auto& [name, tensor] : deep.tensors()) verdict.same_bits("the copy's " + name, copy.at(name), tensor);
  nn::State again = copy;
  verdict.same_bits("going on from the copy", module.extend(again, rest), expected);

  // Rows reordered and one repeated.
  std::vector<int64_t> order = {batch - 1};
  for (int64_t b = 0; b < batch; ++b) order.push_back(batch - 1 - b);
  const auto index = at::tensor(order, at::kLong);
  auto reordered = copy.select(index);
  verdict.close("rows reordered", module.extend(reordered, rest.index_select(0, index)),
                expected.index_select(0, index), module);

  // Streams that joined late: states of different age side by side.
  if (probe.causal() && batch > 1) {
    const auto rows = [](int64_t row) { return at::tensor({row}, at::kLong); };
    auto young = module.begin(1);
    auto both = nn::State::stack({copy.select(rows(0)), young});
    const auto mixed = at::cat({rest.narrow(0, 0, 1), rest.narrow(0, 1, 1)});
    const auto y = module.extend(both, mixed);
    verdict.close("the older of two streams", y.narrow(0, 0, 1), expected.narrow(0, 0, 1), module);
    verdict.close("the younger of two streams", y.narrow(0, 1, 1), module.forward(rest.narrow(0, 1, 1)), module);
  }
  if (state.bytes() <= 0 && !probe.cross()) verdict.fail("bytes() is " + std::to_string(state.bytes()));
}

}  // namespace longspan::testing
