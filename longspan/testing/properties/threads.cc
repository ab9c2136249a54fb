// Threads: results do not depend on their number.
#include <ATen/Parallel.h>

#include "longspan/testing/properties/probe.h"

namespace longspan::testing {
namespace {

/// Sets torch's thread count and puts it back.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

}  // namespace

void check_threads(Probe& probe, Verdict& verdict) {
  auto& module = probe.module();
  const auto x = probe.tokens();
  const auto weight = probe.random(x.sizes());
  nn::AttentionInputs inputs;
  if (probe.cross()) inputs.source = probe.source();
  const auto with = [&](int threads) {
    const ThreadCount count(threads);
    return run(probe, x, inputs, weight);
  };
  const auto one = with(1);
  for (const int threads : {1, 2}) {
    const auto first = threads == 1 ? one : with(2), second = with(threads);
    const std::string which = threads == 1 ? "a rerun on one thread" : "a rerun on two threads";
    verdict.same_bits(which, second.y, first.y);
    verdict.same_bits(which + ", gradient", second.dx, first.dx);
    for (const auto& [name, gradient] : first.dparameters)
      verdict.same_bits(which + ", gradient of " + name, second.dparameters.at(name), gradient);
  }
  verdict.close("two threads and one", with(2), one, module);

  if (!module.properties().bitwise || probe.cross()) return;
  const int64_t heads = module.sizes().heads, width = module.sizes().head_width();
  const auto make = [&] { return probe.random({x.size(0), heads, x.size(1), width}); };
  const auto q = make(), k = make(), v = make(), g = make();
  const auto attend = [&](int threads) {
    const ThreadCount count(threads);
    const auto lq = q.detach().requires_grad_(), lk = k.detach().requires_grad_(), lv = v.detach().requires_grad_();
    auto y = module.attend(lq, lk, lv);
    y.backward(g);
    module.zero_grad();
    // An operator may leave an operand unused (a memory without its local branch reads no keys).
    const auto gradient = [](const at::Tensor& leaf) {
      return leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf);
    };
    return std::vector<at::Tensor>{y.detach(), gradient(lq), gradient(lk), gradient(lv)};
  };
  const auto serial = attend(1), parallel = attend(2);
  const char* names[] = {"output", "gradient of q", "gradient of k", "gradient of v"};
  for (size_t i = 0; i < serial.size(); ++i)
    verdict.same_bits(std::string("the operator on two threads, ") + names[i], parallel[i], serial[i]);
}

}  // namespace longspan::testing
