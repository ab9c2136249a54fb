#include "longspan/tasks/sampler.h"

#include <numeric>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/rng.h"

namespace longspan::tasks {

namespace {

/// Keeps the stream apart from those of other users of the same seed ("pass" in ASCII).
constexpr uint64_t kPass = 0x70617373;

}  // namespace

ExampleSampler::ExampleSampler(int64_t examples, int64_t batch, uint64_t seed)
    : examples_(examples), batch_(batch), seed_(seed) {
  LONGSPAN_CHECK(examples >= 1 && batch >= 1, "sampler: examples and batch must be at least 1, got ", examples, " and ",
                 batch);
}

void ExampleSampler::shuffle(int64_t pass) {
  pass_ = pass;
  order_.resize(static_cast<std::size_t>(examples_));
  std::iota(order_.begin(), order_.end(), 0);
  Rng rng(seed_, stream_of({kPass, static_cast<uint64_t>(pass)}));
  for (std::size_t left = order_.size(); left > 1; --left) std::swap(order_[left - 1], order_[rng.below(left)]);
}

std::vector<int64_t> ExampleSampler::rows(int64_t step) {
  std::vector<int64_t> out;
  for (int64_t number = step * batch_; number < (step + 1) * batch_; ++number) {
    if (number / examples_ != pass_) shuffle(number / examples_);
    out.push_back(order_[static_cast<std::size_t>(number % examples_)]);
  }
  return out;
}

}  // namespace longspan::tasks
