// Wall-clock timing of functions that take turns, so that a busy machine slows all of them alike.
#pragma once

#include <functional>
#include <vector>

namespace longspan::tool {

struct Timing {
  double seconds = 0;  ///< median of one call
  double spread = 0;   ///< (third quartile - first quartile) / median
  int repeats = 0;
};

struct TimingPlan {
  double minimum_seconds = 0.3;  ///< of measured time for each function
  int minimum_repeats = 3;
  int maximum_repeats = 1000;
  bool warm_up = true;  ///< one unmeasured call of each first
};

/// Calls a, b, ..., a, b, ... until each satisfies the plan; between rounds a Ctrl-C is honoured. One result per
/// function, in order.
std::vector<Timing> time_alternating(const std::vector<std::function<void()>>& functions, const TimingPlan& plan = {});

/// Seconds since a fixed point, monotonic.
double now();

/// Median and spread of `samples` (not empty).
Timing summarize(std::vector<double> samples);

}  // namespace longspan::tool
