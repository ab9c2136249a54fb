// Which examples a step of training reads.
#pragma once

#include <cstdint>
#include <vector>

namespace longspan::tasks {

/// Every example once, in an order of its own for every pass over them. Row r of step s (from 0) is number s batch + r
/// of this endless order, a pure function of the seed: resuming needs the number of the step alone.
class ExampleSampler {
 public:
  /// InputError unless both counts are at least 1.
  ExampleSampler(int64_t examples, int64_t batch, uint64_t seed);

  /// Numbers of the examples of a step, [batch].
  std::vector<int64_t> rows(int64_t step);

 private:
  void shuffle(int64_t pass);

  int64_t examples_, batch_;
  uint64_t seed_;
  int64_t pass_ = -1;
  std::vector<int64_t> order_;  ///< of this pass
};

}  // namespace longspan::tasks
